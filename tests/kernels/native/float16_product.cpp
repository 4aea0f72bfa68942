// Division of float16 x by a float16 scale to 8 bits is right on each instruction set: every x by every significand of
// the scale, compared with the oracle.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elements/small_float.hpp"
#include "kernels/monotonic.hpp"
#include "kernels/native/formulas/float16_product.hpp"
#include "kernels/native/implementation.hpp"
#include "kernels/native/plan.hpp"
#include "oracle/onnx.hpp"
#include "support/direct.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::test {
namespace {

using namespace kernels::native;

/// The ways in which this processor can compute float16.
std::vector<tested_set> methods() {
    auto result = available_sets();
    if (targets::has(targets::of_processor(), targets::avx512_fp16))
        result.push_back({"avx512_fp16", &loops_for(targets::avx512_fp16)});
    return result;
}

/// The bits of every `step`th float16.
std::vector<std::uint16_t> every_float16(std::size_t step) {
    std::vector<std::uint16_t> result;
    for (std::size_t bits = 0; bits < 1 << 16; bits += step)
        result.push_back(static_cast<std::uint16_t>(bits));
    return result;
}

/// The bits of a scale, and a zero point of dst's type.
struct parameters {
    std::uint16_t scale;
    data_type dst_type;
    int zero_point;

    sample of(const std::vector<std::uint16_t> &x) const {
        return {statement(x.size()),
                {bytes_of(x), bytes_of(std::vector {scale}), {static_cast<std::byte>(zero_point)}}};
    }
    quantization statement(std::size_t count) const {
        const dims extents = {static_cast<std::int64_t>(count)};
        auto q = statement_of(direction::quantize, data_type::f16, dst_type, extents, extents, dst_type);
        q.scales.type = data_type::f16;
        q.rule = numerics::onnx;
        q.division = precision::f16;
        return q;
    }
};

void run(const quantization &q, const tested_set &by, const arguments &args, streaming when = streaming::large) {
    kernels::settings one_thread;
    one_thread.threads = 1;
    implement(q, canonicalize(q), one_thread, *by.code, when)->run(args);
}

// ---- The formula -----------------------------------------------------------------------------------

/// A vector of one float16, for machines without AVX512-FP16.
struct one_float16 {
    using reals = float;
    using integers = std::int32_t;
    static float rounded(float value) { return float16::from(value).value(); }
    static reals splat(float value) { return rounded(value); }
    static integers splat(std::int32_t value) { return static_cast<std::int16_t>(value); }
    static reals fma(reals a, reals b, reals c) { return rounded(std::fma(a, b, c)); }
    static reals min(reals bound, reals x) { return bound < x ? bound : x; }
    static integers to_integers(reals x) { return static_cast<integers>(std::nearbyint(x)); }
    static integers add_saturated(integers a, integers b) { return a + b; }
};

#if defined(__x86_64__) // the only processors with loops that have it
TEST(float16_product, is_in_the_families_of_bytes_divided_in_f16_alone) {
    const auto &loops = loops_for(targets::avx512_fp16), &others = loops_for(targets::avx512);
    ASSERT_EQ(loops.family_count, others.family_count);
    const auto family_of = [&](data_type dst) {
        return &family_for(loops, {direction::quantize, dst, false, numerics::onnx, precision::f16, true});
    };
    for (int i = 0; i < loops.family_count; ++i) {
        const auto &given = loops.families[i], &other = others.families[i];
        const bool is_one = &given == family_of(data_type::u8) || &given == family_of(data_type::s8);
        EXPECT_EQ(given.exact.is_exact != other.exact.is_exact, is_one) << i;
        EXPECT_EQ(given.prepare, other.prepare) << i;
    }
}
#endif

TEST(float16_product, takes_zero_points_as_the_family_prepares_them) {
    for (const auto &by : available_sets()) {
        if (by.code->lanes == 1) continue; // divides
        for (const auto dst : {data_type::u8, data_type::s8})
            for (std::int32_t zero_point : {0, 1, 100, 127, dst == data_type::u8 ? 255 : -128}) {
                const formula_query query = {direction::quantize, dst, false, numerics::onnx, precision::f16, true};
                float scale = 0.25F, reciprocal = 0;
                const prepared_parameters p = {{{&scale, &reciprocal, &zero_point}}, {}};
                ASSERT_EQ(family_for(*by.code, query).prepare(1, p.columns), chunk_state::guarded);
                using formula = float16_product<one_float16>;
                const auto taken = taken_by<formula>(p);
                EXPECT_EQ(formula::from(kernels::native::broadcast<one_float16, formula> {taken, 0})(1.25F),
                        5 + zero_point)
                        << by.name;
            }
    }
}

// ---- The kernel ------------------------------------------------------------------------------------

/// The expected results of all x, by the oracle. They are monotonic among the x of one sign and exponent; the last such
/// ones are infinity and NaNs.
std::vector<std::uint8_t> expected_of(const parameters &p, const std::vector<std::uint16_t> &x) {
    constexpr std::size_t significands = 1024;
    const auto scale = oracle::number_from(data_type::f16, p.scale),
               zero_point = oracle::number_of_integer(p.zero_point);
    std::vector<std::uint8_t> expected;
    for (std::size_t first = 0; first < x.size(); first += significands) {
        const auto part = monotonic_results(significands, [&](std::size_t i) {
            return static_cast<std::uint8_t>(oracle::quantize_onnx(
                    {oracle::number_from(data_type::f16, x[first + i]), scale, zero_point, precision::f16}, p.dst_type,
                    false));
        });
        expected.insert(expected.end(), part.begin(), part.end());
    }
    return expected;
}

TEST(float16_product, is_right_for_every_x_and_every_significand_of_the_scale) {
    const auto x = every_float16(1);
    for (std::uint32_t s = 0; s < 1024; ++s) {
        const auto scale_with = [=](std::uint32_t biased_exponent) {
            return static_cast<std::uint16_t>(biased_exponent << 10 | s);
        };
        // The least, the greatest and a middle exponent of the scales that are divided by in float16. Zero points let
        // positive or negative quotients stay in range.
        for (const auto &p : {parameters {scale_with(1), data_type::u8, 0},
                     {scale_with(2 + s % 14), data_type::u8, 100}, {scale_with(16), data_type::u8, 255}}) {
            const auto expected = expected_of(p, x);
            const auto zero_point = static_cast<std::uint8_t>(p.zero_point);
            for (const auto &by : methods()) {
                if (by.name == "scalar") continue; // slow, and divides instead of multiplying
                std::vector<std::uint8_t> given(x.size());
                run(p.statement(x.size()), by, {x.data(), &p.scale, &zero_point, given.data()});
                const auto wrong = std::mismatch(given.begin(), given.end(), expected.begin());
                ASSERT_EQ(given, expected) << by.name << ", scale " << p.scale << ", zero point " << p.zero_point
                                           << ", x " << wrong.first - given.begin();
            }
        }
    }
}

class float16_product_by : public testing::TestWithParam<tested_set> {
  protected:
    /// Compares with the oracle.
    void expect_right(const parameters &p, const std::vector<std::uint16_t> &x, std::size_t offset, streaming when) {
        const auto s = p.of(x);
        guarded_sample guarded(s, {guarded_buffer::place::at_front, 0, offset});
        const auto run_it = [&](const arguments &args) { run(s.q, GetParam(), args, when); };
        ASSERT_TRUE(guarded.computed_right_by(run_it)) << ", scale " << p.scale << ", offset " << offset;
    }
};

TEST_P(float16_product_by, scales_of_all_kinds) {
    // 0; subnormals; the least and the greatest scales that are divided by in float16, and their neighbours; the
    // significand that is not; the greatest scale; infinity; NaN; negative scales.
    for (const int bits : {0x0000, 0x0001, 0x0155, 0x03ff, 0x0400, 0x0401, 0x2bff, 0x2c66, 0x3be7, 0x43e7, 0x43ff,
                 0x4400, 0x5bff, 0x7bff, 0x7c00, 0x7e00, 0x8000, 0x8001, 0xac66, 0xbc00, 0xfbff, 0xfc00}) {
        const auto scale = static_cast<std::uint16_t>(bits);
        for (const auto &p : {parameters {scale, data_type::u8, 3}, {scale, data_type::s8, -128}})
            ASSERT_NO_FATAL_FAILURE(expect_right(p, every_float16(61), 0, streaming::large));
    }
}

TEST_P(float16_product_by, every_length_and_alignment_past_the_caches_or_not) {
    const auto all = every_float16(97); // of all magnitudes
    for (const std::size_t count : {1U, 31U, 32U, 33U, 64U, 65U, 96U, 127U, 128U, 129U, 255U, 256U, 300U, 400U, 512U,
                 513U, 543U, 576U, 641U, 676U}) // from 512 on, formulas for exact scales
        for (std::size_t offset = 0; offset < 128; offset += 9)
            for (const auto when : {streaming::large, streaming::always}) {
                const std::vector<std::uint16_t> x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
                ASSERT_NO_FATAL_FAILURE(expect_right({0x2c66, data_type::u8, 128}, x, offset, when));
            }
}

INSTANTIATE_TEST_SUITE_P(
        isa, float16_product_by, testing::ValuesIn(methods()), [](const auto &tested) { return tested.param.name; });

} // namespace
} // namespace dynquant::test
