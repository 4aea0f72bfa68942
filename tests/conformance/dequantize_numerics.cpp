// DynamicDequantize and Dequantize compute f32(f32(src - zp) * scale), where src - zp is exact before it is rounded.
#include "operator_test.hpp"

namespace dynquant::test {
namespace {

class dequantize_numerics : public operator_test {
  protected:
    /// Dequantizes by one scale. Tests that include the onednn kernel give no zero point.
    static floats dequantized(const ints &src, float scale, std::optional<std::int64_t> zp = {},
            integer_type integer = s8, dg::fpmath_mode fpmath = dg::fpmath_mode::strict) {
        auto op = make({static_cast<std::int64_t>(src.size())}, {scale});
        op.integer = integer;
        op.fpmath = fpmath;
        if (zp) op.zps = {*zp};
        return operator_test::dequantized(op, src);
    }
};

class dequantize_with_zero_points : public dequantize_numerics {};

TEST_P(dequantize_numerics, the_product_is_rounded_to_nearest_even) {
    // 0.1f is 0x1.99999ap-4. Five times that is 0x1.0000004p-1 and seven times 0x1.6666666cp-1; floats have
    // even last digits here, and both are nearer to the one below.
    EXPECT_EQ(dequantized({5, -5, 7, -7}, 0.1f), (floats {0.5f, -0.5f, 0x1.666666p-1f, -0x1.666666p-1f}));
    // 3 * (1 + 2^-23) = 3 + 3 * 2^-23, a tie between 3 + 2^-22 and 3 + 2^-21: the latter is even.
    EXPECT_EQ(dequantized({3, 5}, 0x1.000002p0f), (floats {0x1.800004p1f, 0x1.400002p2f})); // 5 + 1.25 * 2^-21
}

TEST_P(dequantize_numerics, zero_times_a_scale_keeps_the_scales_sign) {
    const auto zeros = dequantized({0, 0}, -0.5f);
    EXPECT_EQ(zeros, (floats {0, 0}));
    EXPECT_TRUE(std::signbit(zeros[0]));
    EXPECT_FALSE(std::signbit(dequantized({0}, 0.5f)[0]));
}

TEST_P(dequantize_numerics, a_zero_scale_gives_signed_zeros) {
    const auto zeros = dequantized({5, -5, 0}, 0);
    EXPECT_EQ(zeros, (floats {0, 0, 0}));
    EXPECT_EQ((std::vector<bool> {std::signbit(zeros[0]), std::signbit(zeros[1]), std::signbit(zeros[2])}),
            (std::vector<bool> {false, true, false}));
}

TEST_P(dequantize_numerics, an_infinite_scale_gives_infinities_and_nan) {
    const auto result = dequantized({5, -5, 0}, infinity);
    EXPECT_EQ((floats {result[0], result[1]}), (floats {infinity, -infinity}));
    EXPECT_TRUE(std::isnan(result[2]));
}

TEST_P(dequantize_numerics, a_nan_scale_gives_nan) {
    for (const float value : dequantized({-128, 0, 127}, nan))
        EXPECT_TRUE(std::isnan(value));
}

TEST_P(dequantize_numerics, subnormal_scales_and_results_are_not_flushed) {
    EXPECT_EQ(dequantized({1, -3, 127}, 0x1p-149f), (floats {0x1p-149f, -0x1.8p-148f, 0x1.fcp-143f}));
    // 100 * (1 + 2^-23) = 100 + 1.5625 * 2^-17
    EXPECT_EQ(dequantized({100, -1}, 0x1.000002p-126f), (floats {0x1.900004p-120f, -0x1.000002p-126f}));
}

TEST_P(dequantize_numerics, results_overflow_to_infinity) {
    EXPECT_EQ(dequantized({1, 2, -2, 127}, 0x1.fffffep127f), (floats {0x1.fffffep127f, infinity, -infinity, infinity}));
    EXPECT_EQ(dequantized({255}, 0x1p120f, {}, u8), (floats {0x1.fep127f}));
}

TEST_P(dequantize_numerics, a_negative_scale_multiplies) {
    EXPECT_EQ(dequantized({5, -5}, -0.5f), (floats {-2.5f, 2.5f}));
}

TEST_P(dequantize_numerics, every_fpmath_mode_means_strict) {
    for (const auto mode : {dg::fpmath_mode::bf16, dg::fpmath_mode::f16, dg::fpmath_mode::tf32, dg::fpmath_mode::any})
        EXPECT_EQ(dequantized({7, 127}, 0.1f, {}, s8, mode), (floats {0x1.666666p-1f, 12.7f}));
}

TEST_P(dequantize_with_zero_points, the_difference_is_exact_before_it_is_rounded) {
    // 1 + 2^24 and 3 + 2^24 are ties between even integers; those divisible by four have even mantissas.
    EXPECT_EQ(dequantized({1, 3, 2}, 1, -(1 << 24)), (floats {0x1p24f, 0x1.000004p24f, 0x1.000002p24f}));
    // f32(zp) would be 2^24, and the differences one off.
    EXPECT_EQ(dequantized({1, 2}, 1, (1 << 24) + 1), (floats {-0x1p24f, -0x1.fffffep23f}));
}

TEST_P(dequantize_with_zero_points, the_difference_is_exact_around_2_to_22) { // beyond which NEON takes other loops
    EXPECT_EQ(dequantized({127, -128}, 1, 4194304), (floats {-4194177, -4194432}));
    EXPECT_EQ(dequantized({127, -128}, 1, 4194305), (floats {-4194178, -4194433}));
    EXPECT_EQ(dequantized({127, -128}, 1, -4194304), (floats {4194431, 4194176}));
    EXPECT_EQ(dequantized({127, -128}, 1, -4194305), (floats {4194432, 4194177}));
    EXPECT_EQ(dequantized({255, 0}, 1, 4194304, u8), (floats {-4194049, -4194304}));
    EXPECT_EQ(dequantized({255, 0}, 1, -4194305, u8), (floats {4194560, 4194305}));
}

TEST_P(dequantize_with_zero_points, the_difference_may_need_33_bits) {
    EXPECT_EQ(dequantized({127, -128}, 0x1p-31f, -2147483648), (floats {1, 0x1.fffffep-1f}));
    EXPECT_EQ(dequantized({127, -128}, 0x1p-31f, 2147483647), (floats {-0x1.fffffep-1f, -1}));
    EXPECT_EQ(dequantized({255, 129, 128}, 0x1p-31f, -2147483648, u8), (floats {0x1.000002p0f, 0x1.000002p0f, 1}));
}

TEST_P(dequantize_with_zero_points, a_difference_of_zero_times_infinity_is_nan) {
    const auto result = dequantized({7, 8, 6}, infinity, 7);
    EXPECT_TRUE(std::isnan(result[0]));
    EXPECT_EQ((floats {result[1], result[2]}), (floats {infinity, -infinity}));
}

TEST_P(dequantize_with_zero_points, a_difference_of_zero_takes_the_scales_sign) {
    EXPECT_TRUE(std::signbit(dequantized({7}, -1, 7)[0]));
    EXPECT_FALSE(std::signbit(dequantized({7}, 1, 7)[0]));
}

const std::vector<kind> both = {kind::DynamicDequantize, kind::Dequantize};

INSTANTIATE_TEST_SUITE_P(
        kernels, dequantize_numerics, testing::ValuesIn(each(both, all_variants())), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(kernels, dequantize_with_zero_points, testing::ValuesIn(each(both, universal_variants())),
        testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
