// Under numerics::onnx floats are quantized to floats without rounding to integers. Clauses are those of QuantizeLinear
// (opset 28), of Cast-24's tables and of AMD Quark's ExtendedQuantizeLinear, with values worked out by hand, on every
// kernel that computes them.
#include "onnx_quantizing.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

const reals special = {0, -0.0, nan, infinity, -infinity, 1e9, -1e9};

TEST(onnx_numerics, float8_saturates_as_the_first_table_of_cast_24) {
    constexpr auto single = precision::f32;
    EXPECT_EQ((quantizing {f8_e4m3, f32, f32, single, true}.codes(special, 1)),
            (integers {0, 0x80, 0x7f, 0x7e, 0xfe, 0x7e, 0xfe}));
    EXPECT_EQ((quantizing {f8_e4m3fnuz, f32, f32, single, true}.codes(special, 1)),
            (integers {0, 0, 0x80, 0x7f, 0xff, 0x7f, 0xff}));
    EXPECT_EQ((quantizing {f8_e5m2, f32, f32, single, true}.codes(special, 1)),
            (integers {0, 0x80, 0x7e, 0x7b, 0xfb, 0x7b, 0xfb}));
    EXPECT_EQ((quantizing {f8_e5m2fnuz, f32, f32, single, true}.codes(special, 1)),
            (integers {0, 0, 0x80, 0x7f, 0xff, 0x7f, 0xff}));
}

TEST(onnx_numerics, float8_overflows_as_the_second_table_of_cast_24) {
    EXPECT_EQ(quantizing {f8_e4m3}.codes(special, 1), (integers {0, 0x80, 0x7f, 0x7f, 0xff, 0x7f, 0xff}));
    EXPECT_EQ(quantizing {f8_e4m3fnuz}.codes(special, 1), (integers {0, 0, 0x80, 0x80, 0x80, 0x80, 0x80}));
    EXPECT_EQ(quantizing {f8_e5m2}.codes(special, 1), (integers {0, 0x80, 0x7e, 0x7c, 0xfc, 0x7c, 0xfc}));
    EXPECT_EQ(quantizing {f8_e5m2fnuz}.codes(special, 1), (integers {0, 0, 0x80, 0x80, 0x80, 0x80, 0x80}));
}

TEST(onnx_numerics, overflow_is_that_of_the_rounded_number) {
    // The ties after the highest number: 464 goes down to 448, 480 is beyond; 248 goes up to 256, 61440 to 65536.
    for (const bool saturate : {false, true}) {
        const auto to = [&](data_type type) { return quantizing {type, f32, f32, precision::f32, saturate}; };
        EXPECT_EQ(to(f8_e4m3).codes({464, 464.1}, 1), (integers {0x7e, saturate ? 0x7e : 0x7f}));
        EXPECT_EQ(to(f8_e4m3).codes({480}, 1), (integers {saturate ? 0x7e : 0x7f}));
        EXPECT_EQ(to(f8_e4m3fnuz).codes({247.9, 248}, 1), (integers {0x7f, saturate ? 0x7f : 0x80}));
        EXPECT_EQ(to(f8_e5m2).codes({61439, 61440}, 1), (integers {0x7b, saturate ? 0x7b : 0x7c}));
        EXPECT_EQ(to(f8_e5m2fnuz).codes({61439, 61440}, 1), (integers {0x7f, saturate ? 0x7f : 0x80}));
    }
}

TEST(onnx_numerics, fnuz_has_no_minus_zero) {
    EXPECT_EQ(quantizing {f8_e4m3fnuz}.codes({-0x1p-11, -0x1p-10, 0x1p-10}, 1), (integers {0, 0x81, 1}));
    EXPECT_EQ(quantizing {f8_e5m2fnuz}.codes({-0x1p-18, -0x1p-17, 0x1p-17}, 1), (integers {0, 0x81, 1}));
}

TEST(onnx_numerics, floats_of_4_and_6_bits_always_saturate) {
    for (const bool saturate : {false, true}) {
        const auto to = [&](data_type type) { return quantizing {type, f32, f32, precision::f32, saturate}; };
        EXPECT_EQ(to(f4_e2m1).codes(special, 1), (integers {0, 8, 7, 7, 15, 7, 15}));
        EXPECT_EQ(to(f6_e2m3).codes(special, 1), (integers {0, 0x20, 0x1f, 0x1f, 0x3f, 0x1f, 0x3f}));
        EXPECT_EQ(to(f6_e3m2).codes(special, 1), (integers {0, 0x20, 0x1f, 0x1f, 0x3f, 0x1f, 0x3f}));
    }
    // Ties of 0 0.5 1 1.5 2 3 4 6 go to codes that are even.
    EXPECT_EQ(quantizing {f4_e2m1}.codes({0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6.9, -5.1}, 1),
            (integers {0, 2, 2, 4, 4, 6, 6, 7, 15}));
}

TEST(onnx_numerics, floats_are_not_rounded_to_integers) {
    EXPECT_EQ(quantizing {f8_e4m3}.codes({0.75, -3.25}, 0.5), (integers {0x3c, 0xcd})); // 1.5, -6.5
    EXPECT_EQ(quantizing {f4_e2m1}.codes({0.25, 0.75}, 0.5), (integers {1, 3}));        // 0.5, 1.5
}

TEST(onnx_numerics, floats_have_zero_points_too) {
    EXPECT_EQ(quantizing {f8_e4m3}.codes({1, -1}, 1, 0.5), (integers {0x3c, 0xb0})); // 1.5, -0.5
    EXPECT_EQ(quantizing {f4_e2m1}.codes({2, -1}, 1, 1), (integers {5, 0}));         // 3, 0
    EXPECT_EQ(quantizing {f6_e3m2}.codes({2, nan}, 1, -1), (integers {0x0c, 0x1f})); // 1
    // Without a zero point nothing is added, and -0 stays; -0 + 0 is 0.
    EXPECT_EQ(quantizing {f8_e5m2}.codes({-0.0}, 1), (integers {0x80}));
    EXPECT_EQ(quantizing {f8_e5m2}.codes({-0.0}, 1, 0), (integers {0}));
}

TEST(onnx_numerics, floats_are_rounded_to_the_division_and_then_to_dst) {
    // 1 + 2^-11 is a tie of f16. The sum with 2^-24 is none, but a tie of f32, which goes to that of f16.
    EXPECT_EQ(quantizing {f16}.codes({1 + 0x1p-11}, 1, 0x1p-24), (integers {0x3c00}));
    EXPECT_EQ(quantizing {f16}.codes({1 + 0x1p-11}, 1, 0x1p-23), (integers {0x3c01}));
    // 1.0625 + 2^-12 is above a tie of e4m3. In f16 (steps of 2^-10) it is the tie, and goes down to 1.
    EXPECT_EQ(quantizing {f8_e4m3}.codes({1.0625 + 0x1p-12}, 1), (integers {0x39}));
    EXPECT_EQ((quantizing {f8_e4m3, f32, f32, precision::f16}.codes({1.0625 + 0x1p-12}, 1)), (integers {0x38}));
    // From f64 to bf16 directly. Rounded to f32 first, with steps of 128 there, it would be a tie and go to 0x4e80.
    EXPECT_EQ(
            (quantizing {bf16, s32, f32, precision::f64}.codes({1073741824.0 + 4194304 + 1}, 1)), (integers {0x4e81}));
    EXPECT_EQ(
            (quantizing {bf16, s32, f32, precision::f32}.codes({1073741824.0 + 4194304 + 1}, 1)), (integers {0x4e80}));
}

TEST(onnx_numerics, f16_and_bf16_saturate_as_quarks) {
    for (const bool saturate : {false, true}) {
        const auto to = [&](data_type type) { return quantizing {type, f32, f32, precision::f32, saturate}; };
        const auto expected = [&](std::int64_t highest) {
            const auto beyond = saturate ? highest : highest + 1;
            return integers {beyond, beyond | 0x8000, beyond, beyond | 0x8000};
        };
        EXPECT_EQ(to(f16).codes({infinity, -infinity, 65520, -1e30}, 1), expected(0x7bff));
        EXPECT_EQ(to(f16).codes({65504, 65519}, 1), (integers {0x7bff, 0x7bff}));
        EXPECT_EQ(to(bf16).codes({infinity, -infinity, 3.4e38, -3.4e38}, 1), expected(0x7f7f));
        EXPECT_EQ(to(bf16).codes({3.38953139e38}, 1), (integers {0x7f7f}));
        EXPECT_TRUE(std::isnan(real_from(f16, static_cast<std::uint32_t>(to(f16).codes({nan}, 1)[0]))));
        EXPECT_TRUE(std::isnan(real_from(bf16, static_cast<std::uint32_t>(to(bf16).codes({nan}, 1)[0]))));
    }
}

// ---- Divisions in f16 and bf16

constexpr precision in_16_bits[] = {precision::f16, precision::bf16};

/// A quantization whose src and scale have the type of the division.
quantizing divided_in(precision division, data_type dst, bool saturate = false) {
    const auto type = division == precision::f16 ? f16 : bf16;
    return {dst, type, type, division, saturate};
}

TEST(onnx_numerics, quotients_in_16_bits_are_rounded_to_them_and_then_to_floats) {
    // 152 / 143 = 1.0625 + 1 / 2288 and 2124 / 1999 = 1.0625 + 1 / 31984 are above a tie of e4m3, and nearer to it than
    // to the next number of bf16, which has steps of 2^-7 there, and of f16, of 2^-10. The tie goes down to 1.
    EXPECT_EQ(divided_in(precision::bf16, f8_e4m3).codes({152, -152}, 143), (integers {0x38, 0xb8}));
    EXPECT_EQ(divided_in(precision::f16, f8_e4m3).codes({2124, -2124}, 1999), (integers {0x38, 0xb8}));
    EXPECT_EQ((quantizing {f8_e4m3, bf16, bf16}.codes({152, -152}, 143)), (integers {0x39, 0xb9}));
    EXPECT_EQ((quantizing {f8_e4m3, f16, f16}.codes({2124, -2124}, 1999)), (integers {0x39, 0xb9}));
    // src and the scale are rounded first: 2125 is a tie of f16 and goes to 2124, 1999.25 is nearer to 1999 than to
    // 2000.
    EXPECT_EQ((quantizing {f8_e4m3, f32, f32, precision::f16}.codes({2125}, 1999.25)), (integers {0x38}));
}

TEST(onnx_numerics, quotients_of_f16_may_be_ties_where_they_are_subnormal) {
    // In steps of 2^-24: 1.5, 2.5, 0.5 and 3.5, by scales whose reciprocals are exact and others.
    constexpr double step = 0x1p-24;
    for (const double s : {2, 6, 14}) {
        const double half = s / 2 * step;
        EXPECT_EQ(divided_in(precision::f16, f16).codes({3 * half, 5 * half, half, 7 * half, -3 * half, -half}, s),
                (integers {2, 2, 0, 4, 0x8002, 0x8000}));
    }
    // 2^-17 + 2^-25 is above a tie of e5m2, which f16 rounds it to.
    EXPECT_EQ(divided_in(precision::f16, f8_e5m2).codes({257 * step, -257 * step, 258 * step}, 2),
            (integers {0, 0x80, 1}));
    EXPECT_EQ((quantizing {f8_e5m2, f16, f16}.codes({257 * step}, 2)), (integers {1}));
}

TEST(onnx_numerics, quotients_of_f16_overflow_before_they_are_cast) {
    // 32752 / 0.5 = 65504, its highest number; 65520 and more are infinite.
    for (const bool saturate : {false, true}) {
        const auto to = [&](data_type dst) { return divided_in(precision::f16, dst, saturate); };
        const reals x = {32752, 32768, -32768, 60000, infinity};
        EXPECT_EQ(to(bf16).codes(x, 0.5),
                saturate ? (integers {0x4780, 0x7f7f, 0xff7f, 0x7f7f, 0x7f7f})
                         : (integers {0x4780, 0x7f80, 0xff80, 0x7f80, 0x7f80}));
        EXPECT_EQ(to(f16).codes(x, 0.5),
                saturate ? (integers {0x7bff, 0x7bff, 0xfbff, 0x7bff, 0x7bff})
                         : (integers {0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x7c00}));
        EXPECT_EQ(to(f8_e4m3).codes(x, 0.5),
                saturate ? (integers {0x7e, 0x7e, 0xfe, 0x7e, 0x7e}) : (integers {0x7f, 0x7f, 0xff, 0x7f, 0x7f}));
        EXPECT_EQ(to(f4_e2m1).codes(x, 0.5), (integers {7, 7, 15, 7, 7}));
        // src and a scale of f32 overflow to infinity when they are rounded to f16.
        const auto of_f32 = quantizing {f8_e5m2, f32, f32, precision::f16, saturate};
        EXPECT_EQ(of_f32.codes({65519, 65520}, 32), (integers {0x68, saturate ? 0x7b : 0x7c})); // 65504 / 32 = 2047
        EXPECT_EQ(of_f32.codes({1, -1}, 65520), (integers {0, 0x80}));
        EXPECT_TRUE(is_nan(f8_e5m2, of_f32.codes({65520}, 65520)[0]));
    }
}

TEST(onnx_numerics, bf16_has_the_exponents_of_f32) {
    EXPECT_EQ(divided_in(precision::bf16, bf16).codes({0x1p127, -0x1p127, 0x1p-133}, 0x1p-1),
            (integers {0x7f80, 0xff80, 2}));
    EXPECT_EQ(divided_in(precision::bf16, bf16).codes({0x1p100, -0x1p127}, 0x1p-20), (integers {0x7b80, 0xff80}));
    EXPECT_EQ(divided_in(precision::bf16, bf16, true).codes({0x1p127, -0x1p127}, 0x1p-1), (integers {0x7f7f, 0xff7f}));
    // 1.5 and 0.5 steps of 2^-133.
    EXPECT_EQ(divided_in(precision::bf16, bf16).codes({0x3p-133, -0x3p-133, 0x1p-133}, 2), (integers {2, 0x8002, 0}));
    EXPECT_EQ((quantizing {f16, f32, f32, precision::bf16}.codes({65504, 65280}, 1)), (integers {0x7c00, 0x7bf8}));
}

TEST(onnx_numerics, signs_and_nan_pass_through_divisions_in_16_bits) {
    for (const auto division : in_16_bits) {
        const auto to = [&](data_type dst) { return divided_in(division, dst); };
        EXPECT_EQ(to(f8_e4m3).codes({0, -0.0, nan, 1, -1}, 2), (integers {0, 0x80, 0x7f, 0x30, 0xb0}));
        EXPECT_EQ(to(f8_e5m2).codes({-0.0, nan, infinity, -infinity}, 2), (integers {0x80, 0x7e, 0x7c, 0xfc}));
        EXPECT_EQ(to(f8_e4m3fnuz).codes({-0.0, nan, infinity}, 2), (integers {0, 0x80, 0x80}));
        EXPECT_EQ(to(f8_e5m2).codes({1, -1, infinity}, 0), (integers {0x7c, 0xfc, 0x7c}));
        EXPECT_EQ(to(f8_e5m2).codes({0, 1, -1}, infinity), (integers {0, 0, 0x80}));
        EXPECT_EQ(to(f8_e5m2).codes({0, 1, -1, infinity}, -2), (integers {0x80, 0xb8, 0x38, 0xfc}));
        EXPECT_EQ(to(f8_e5m2).codes({1}, nan), (integers {0x7e}));
        // -0 + 0 is 0, and -0 + -0 is not.
        EXPECT_EQ(to(f8_e5m2).codes({0, -0.0, -1, nan}, 2, 0), (integers {0, 0, 0xb8, 0x7e}));
        EXPECT_EQ(to(f8_e5m2).codes({0, -0.0, -1}, 2, -0.0), (integers {0, 0x80, 0xb8}));
        EXPECT_EQ(to(f8_e5m2).codes({1, -infinity}, 2, nan), (integers {0x7e, 0x7e}));
        EXPECT_EQ(to(f8_e5m2).codes({1, infinity}, 2, infinity), (integers {0x7c, 0x7c}));
        EXPECT_TRUE(is_nan(f8_e5m2, to(f8_e5m2).codes({-infinity}, 2, infinity)[0]));
        EXPECT_TRUE(is_nan(f8_e5m2, to(f8_e5m2).codes({0}, 0)[0]));
        EXPECT_TRUE(is_nan(f8_e5m2, to(f8_e5m2).codes({infinity}, infinity)[0]));
    }
    // -2^-26 is -0 in f16, and in bf16 itself, which 0 does not change and e5m2 makes -0 of.
    EXPECT_EQ(divided_in(precision::f16, f8_e5m2).codes({-0x1p-24}, 4, 0), (integers {0}));
    EXPECT_EQ(divided_in(precision::bf16, f8_e5m2).codes({-0x1p-24}, 4, 0), (integers {0x80}));
}

TEST(onnx_numerics, sums_in_16_bits_are_rounded_to_them) {
    // 1.0625 is a tie of e4m3, down to 1; f16 rounds 1.0625 + 2^-14 to it, bf16 1.0625 + 2^-11.
    EXPECT_EQ(divided_in(precision::f16, f8_e4m3).codes({0.0625 + 0x1p-14}, 1, 1), (integers {0x38}));
    EXPECT_EQ(divided_in(precision::bf16, f8_e4m3).codes({0.0625 + 0x1p-11}, 1, 1), (integers {0x38}));
    EXPECT_EQ((quantizing {f8_e4m3, f16, f16}.codes({0.0625 + 0x1p-14}, 1, 1)), (integers {0x39}));
    EXPECT_EQ((quantizing {f8_e4m3, bf16, bf16}.codes({0.0625 + 0x1p-11}, 1, 1)), (integers {0x39}));
    // 65504 + 16 is a tie, to beyond the highest number of f16.
    EXPECT_EQ(divided_in(precision::f16, f16).codes({16, 15.9921875}, 1, 65504), (integers {0x7c00, 0x7bff}));
    EXPECT_EQ(divided_in(precision::f16, f16, true).codes({16, -infinity}, 1, 65504), (integers {0x7bff, 0xfbff}));
    // 1 + 2^-11 is a tie of f16, 1 + 2^-11 + 2^-21 above it.
    EXPECT_EQ(divided_in(precision::f16, f16).codes({1}, 1, 0x1p-11), (integers {0x3c00}));
    EXPECT_EQ(divided_in(precision::f16, f16).codes({1}, 1, 0x1.004p-11), (integers {0x3c01}));
    // Sums of subnormal numbers are exact.
    EXPECT_EQ(divided_in(precision::f16, f16).codes({0x1p-24, 0x3p-24, -0x1p-24}, 1, 0x1p-24), (integers {2, 4, 0}));
}

TEST(onnx_numerics, zero_points_are_rounded_to_the_division) {
    // 1 + 2^-10 is 1 in bf16; 2^17 is infinite in f16, and 2^-26 is 0.
    EXPECT_EQ((quantizing {f16, f32, f32, precision::bf16}.codes({0}, 1, 1 + 0x1p-10)), (integers {0x3c00}));
    EXPECT_EQ((quantizing {bf16, f32, f32, precision::f16}.codes({0}, 1, 0x1p17)), (integers {0x7f80}));
    EXPECT_EQ((quantizing {bf16, f32, f32, precision::f16, true}.codes({0}, 1, 0x1p17)), (integers {0x7f7f}));
    EXPECT_EQ((quantizing {bf16, f32, f32, precision::f16}.codes({0}, 1, 0x1p-26)), (integers {0}));
}

} // namespace
} // namespace dynquant::test
