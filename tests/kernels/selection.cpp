// The kernel and the instruction set are chosen in the documented order, and options and the environment force them.
#include <gtest/gtest.h>

#include "support/direct.hpp"
#include "support/environment.hpp"
#include "targets/features.hpp"

namespace dynquant::test {
namespace {

const quantization statement = statement_of(direction::quantize, data_type::f32, data_type::u8, {4, 6}, {4, 6});

/// A statement that every kernel computes.
quantization easy() {
    auto q = statement;
    q.scales.values = {0.5};
    return q;
}

/// A statement that onednn refuses: it divides in double.
quantization hard() {
    auto q = statement;
    q.rule = numerics::onnx;
    q.division = precision::f64;
    return q;
}

/// The last of native's variants, weakest first, up to a cap.
isa strongest(isa cap = isa::avx512) {
    auto result = isa::scalar;
    for (const auto &v : universal_variants()) {
        if (v.kernel != kernel_kind::native) break;
        result = v.max_isa;
        if (v.max_isa == cap) break;
    }
    return result;
}

bool is_arm() {
    return targets::has(targets::of_processor(), targets::neon);
}

/// Each test starts without dynquant's environment variables.
class selection : public testing::Test {
  protected:
    scoped_variable kernel_ {"DYNQUANT_KERNEL", std::nullopt}, isa_ {"DYNQUANT_MAX_ISA", std::nullopt};

    static kernel_kind chosen(const quantization &q, const options &opts = {}) {
        return prepare(q, opts).info().kernel;
    }
    static std::string chosen_isa(const options &opts = {}) { return prepare(easy(), opts).info().isa; }
};

TEST_F(selection, native_comes_first) {
    EXPECT_TRUE(onednn_must_compute(easy()));
    EXPECT_EQ(chosen(easy()), kernel_kind::native);
    EXPECT_EQ(chosen(hard()), kernel_kind::native);
}

TEST_F(selection, code_or_else_the_environment_forces_a_kernel) {
    for (const auto kernel : {kernel_kind::native, kernel_kind::onednn, kernel_kind::reference}) {
        EXPECT_EQ(chosen(easy(), {.kernel = kernel}), kernel);
        const scoped_variable forced("DYNQUANT_KERNEL", to_string(kernel));
        EXPECT_EQ(chosen(easy()), kernel);
        EXPECT_EQ(chosen(easy(), {.kernel = kernel_kind::reference}), kernel_kind::reference);
    }
}

TEST_F(selection, an_empty_variable_says_nothing) {
    const scoped_variable kernel("DYNQUANT_KERNEL", ""), isa("DYNQUANT_MAX_ISA", "");
    EXPECT_EQ(chosen(easy()), kernel_kind::native);
    EXPECT_EQ(chosen_isa(), to_string(strongest()));
}

TEST_F(selection, the_strongest_isa_of_the_processor_is_used) {
    EXPECT_EQ(best_isa(), strongest());
    EXPECT_EQ(chosen_isa(), to_string(strongest()));
    EXPECT_EQ(chosen_isa({.kernel = kernel_kind::reference}), "scalar");
}

TEST_F(selection, code_or_else_the_environment_caps_the_isa) {
    const auto caps =
            is_arm() ? std::vector {isa::scalar, isa::neon} : std::vector {isa::scalar, isa::avx2, isa::avx512};
    for (const auto cap : caps) {
        EXPECT_EQ(chosen_isa({.max_isa = cap}), to_string(strongest(cap)));
        const scoped_variable capped("DYNQUANT_MAX_ISA", to_string(cap));
        EXPECT_EQ(best_isa(), strongest(cap));
        EXPECT_EQ(chosen_isa(), to_string(strongest(cap)));
        EXPECT_EQ(chosen_isa({.max_isa = strongest()}), to_string(strongest()));
    }
}

TEST_F(selection, a_cap_of_another_architecture_means_scalar) {
    const auto foreign = is_arm() ? std::vector {isa::avx2, isa::avx512} : std::vector {isa::neon};
    for (const auto cap : foreign) {
        EXPECT_EQ(chosen_isa({.max_isa = cap}), "scalar");
        const scoped_variable capped("DYNQUANT_MAX_ISA", to_string(cap));
        EXPECT_EQ(best_isa(), isa::scalar);
        EXPECT_EQ(chosen_isa(), "scalar");
    }
}

} // namespace
} // namespace dynquant::test
