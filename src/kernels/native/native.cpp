// The hand-written kernel: which row function computes a statement.
#include "kernels/native/implementation.hpp"
#include "quantization/as_strict.hpp"

namespace dynquant::kernels {
namespace {

using namespace native;

const row_functions &functions_of(isa value) {
#if defined(__x86_64__)
    if (value == isa::avx512) return avx512_rows;
    if (value == isa::avx2) return avx2_rows;
#endif
    return scalar_rows;
}

class native_kernel_type final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::native; }

    std::optional<std::string> refusal(const quantization &q, const settings &) const override {
        if (q.dir == direction::requantize) return "it does not requantize";
        if (!rounds_before_zero_points(q))
            if (auto why = differs_from_strict(q)) return why;
        if (canonicalize(q)) return std::nullopt;
        return "a block of the scales does not divide its dim";
    }

    std::unique_ptr<implementation> prepare(const quantization &q, const settings &s) const override {
        return apply_rows(q, s, function_of(functions_of(s.max_isa), q));
    }
};

} // namespace

const kernel &native_kernel() {
    static const native_kernel_type instance;
    return instance;
}

} // namespace dynquant::kernels
