// DynamicQuantize and Quantize compute clamp(RNE(f32(f32(src / scale) + f32(zp)))).
#include "operator_test.hpp"

namespace dynquant::test {
namespace {

class quantize_numerics : public operator_test {
  protected:
    /// One scale and zero point for all of src.
    static ints quantized(const floats &src, float scale, std::int64_t zp = 0, integer_type integer = s8,
            dg::fpmath_mode fpmath = dg::fpmath_mode::strict) {
        auto op = make({static_cast<std::int64_t>(src.size())}, {scale}, {zp});
        op.integer = integer;
        op.fpmath = fpmath;
        return operator_test::quantized(op, src);
    }
};

TEST_P(quantize_numerics, ties_go_to_the_even_integer) {
    EXPECT_EQ(quantized({0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f, -3.5f}, 1), (ints {0, 2, 2, 4, 0, -2, -2, -4}));
    EXPECT_EQ(quantized({1, 3, 5, 7, -1, -3, -5, -7}, 2), (ints {0, 2, 2, 4, 0, -2, -2, -4}));
    EXPECT_EQ(quantized({126.5f, 127.5f, 253.5f, 254.5f}, 1, 0, u8), (ints {126, 128, 254, 254}));
}

TEST_P(quantize_numerics, the_sum_is_rounded_and_not_the_quotient) {
    EXPECT_EQ(quantized({0.5f, 1.5f, 2.5f, -0.5f}, 1, 1), (ints {2, 2, 4, 0}));     // 1.5 2.5 3.5 0.5
    EXPECT_EQ(quantized({0.5f, 1.5f, 2.5f, -0.5f}, 1, 2), (ints {2, 4, 4, 2}));     // 2.5 3.5 4.5 1.5
    EXPECT_EQ(quantized({0.5f, 1.5f, 2.5f, -0.5f}, 1, -3), (ints {-2, -2, 0, -4})); // -2.5 -1.5 -0.5 -3.5
}

TEST_P(quantize_numerics, the_sum_is_rounded_to_f32_first) {
    // 0.5 - 2^-25 is a float; 1.5 - 2^-25 is not, and is nearest to 1.5, a tie, which goes to 2.
    EXPECT_EQ(quantized({0x1.fffffep-2f}, 1, 1), (ints {2}));
    EXPECT_EQ(quantized({0x1.fffffep-2f}, 1, 0), (ints {0}));
    // The zero point is rounded as well: 2^24 + 1 is not a float but a tie, and rounds to 2^24.
    EXPECT_EQ(quantized({-0x1p24f, -0x1.fffffep23f}, 1, (1 << 24) + 1), (ints {0, 1}));
}

TEST_P(quantize_numerics, the_quotient_is_rounded_once_and_not_made_with_a_reciprocal) {
    // 0.3f is 0.3 + 1.2e-8, so 2.25 / 0.3f = 7.4999997, a float below the tie. 1 / 0.3f rounds to 3.33333325
    // and 2.25 times that to 7.5, which would go to 8.
    EXPECT_EQ(quantized({2.25f, -2.25f}, 0.3f), (ints {7, -7}));
    EXPECT_EQ(quantized({2.25f}, 0.3f, 100, u8), (ints {108})); // the sum is nearest to 107.5
}

TEST_P(quantize_numerics, quotients_beside_ties_by_several_scales) {
    // x, scale, and round(x / scale) in rational arithmetic. Each x * RN(1 / scale) rounds to the other side.
    struct row {
        float x, scale;
        int expected;
    };
    for (const auto &[x, scale, expected] : {row {0x1.8cccccp+0f, 0.1f, 15}, row {0x1.2cccccp+1f, 0.1f, 23},
                 row {0x1.a00002p+1f, 0.1f, 32}, row {0x1.800002p-1f, 0.3f, 2}, row {0x1.933334p+1f, 0.7f, 4},
                 row {0x1.5b3332p+3f, 0.7f, 15}, row {0x1.c7fffep+4f, 3.0f, 9}, row {0x1.a3fffep+5f, 3.0f, 17},
                 row {0x1.a9fbeap-8f, 0.013f, 1}, row {0x1.0a3d72p-5f, 0.013f, 3}, row {0x1.70a3d8p-5f, 0.01f, 5},
                 row {0x1.ae147cp-4f, 0.01f, 11}, row {0x1.70a3d8p-4f, 0.02f, 5}}) {
        EXPECT_EQ(quantized({x, -x}, scale), (ints {expected, -expected})) << x << " / " << scale;
        EXPECT_EQ(quantized({-x, x}, -scale), (ints {expected, -expected})) << x << " / " << -scale;
    }
}

TEST_P(quantize_numerics, results_saturate_at_both_ends) {
    EXPECT_EQ(quantized({127.4f, 127.5f, 128, 1e9f, 1e38f, -128.5f, -128.6f, -1e9f, -1e38f}, 1),
            (ints {127, 127, 127, 127, 127, -128, -128, -128, -128}));
    EXPECT_EQ(quantized({255.4f, 255.5f, 256, 1e9f, 1e38f, -0.5f, -0.6f, -1e9f, -1e38f}, 1, 0, u8),
            (ints {255, 255, 255, 255, 255, 0, 0, 0, 0}));
    EXPECT_EQ(quantized({1e38f, -1e38f}, 1e-30f, 5), (ints {127, -128})); // the quotient overflows
    EXPECT_EQ(quantized({3e9f, -3e9f}, 1, 0), (ints {127, -128}));        // beyond s32
}

TEST_P(quantize_numerics, nan_gives_the_lowest_value) {
    EXPECT_EQ(quantized({nan, -nan, 1, nan}, 1, 3), (ints {-128, -128, 4, -128}));
    EXPECT_EQ(quantized({nan, -nan, 1, nan}, 1, 3, u8), (ints {0, 0, 4, 0}));
}

TEST_P(quantize_numerics, infinities_saturate) {
    EXPECT_EQ(quantized({infinity, -infinity}, 0.1f, 3), (ints {127, -128}));
    EXPECT_EQ(quantized({infinity, -infinity}, 0.1f, 3, u8), (ints {255, 0}));
    EXPECT_EQ(quantized({infinity, -infinity}, -0.1f, 3), (ints {-128, 127}));
}

TEST_P(quantize_numerics, minus_zero_is_zero) {
    EXPECT_EQ(quantized({-0.0f, 0.0f}, 0.7f, 9), (ints {9, 9}));
    EXPECT_EQ(quantized({-0.0f, 0.0f}, -0.7f), (ints {0, 0}));
}

TEST_P(quantize_numerics, a_negative_scale_divides) {
    EXPECT_EQ(quantized({5, -5, 0.5f, 1e9f}, -2, 10), (ints {8, 12, 10, -128})); // 7.5 12.5 9.75
}

TEST_P(quantize_numerics, a_zero_scale_gives_infinities_and_nan) {
    EXPECT_EQ(quantized({1, -1, 0, -0.0f, nan}, 0, 5), (ints {127, -128, -128, -128, -128}));
    EXPECT_EQ(quantized({1, -1, 0}, -0.0f, 5), (ints {-128, 127, -128}));
    EXPECT_EQ(quantized({1, -1, 0}, 0, 5, u8), (ints {255, 0, 0}));
}

TEST_P(quantize_numerics, an_infinite_scale_gives_the_zero_point_or_nan) {
    EXPECT_EQ(quantized({1, -1e38f, 0, infinity, -infinity}, infinity, 5), (ints {5, 5, 5, -128, -128}));
    EXPECT_EQ(quantized({1, infinity}, -infinity, 5, u8), (ints {5, 0}));
}

TEST_P(quantize_numerics, a_nan_scale_gives_the_lowest_value) {
    EXPECT_EQ(quantized({1, 0, infinity}, nan, 5), (ints {-128, -128, -128}));
    EXPECT_EQ(quantized({1, 0, infinity}, nan, 5, u8), (ints {0, 0, 0}));
}

TEST_P(quantize_numerics, subnormal_scales_and_values_are_not_flushed) {
    EXPECT_EQ(quantized({0x1p-149f, -0x1p-149f, 0x1.4p-147f, 0, 1}, 0x1p-149f), (ints {1, -1, 5, 0, 127}));
    EXPECT_EQ(quantized({0x1p-149f, 0x1.8p-148f, 0x1.4p-147f, 0x1.cp-147f}, 0x1p-148f),
            (ints {0, 2, 2, 4})); // 0.5 1.5 2.5 3.5
    EXPECT_EQ(quantized({0x1p-130f, 0x1p-126f}, 0x1p-133f, -7), (ints {1, 121}));
}

TEST_P(quantize_numerics, scales_at_the_ends_of_the_exponents) {
    EXPECT_EQ(quantized({0x1p127f, 0x1.8p126f, -0x1.fffffep127f}, 0x1p126f), (ints {2, 2, -4})); // 2 1.5 -3.9999998
    EXPECT_EQ(quantized({0x1.8p-125f, -0x1.4p-124f}, 0x1p-126f), (ints {3, -5}));
    EXPECT_EQ(quantized({0x1.4p+76f, 0x1.4p+77f}, 0x1p+76f), (ints {1, 2})); // 1.25 2.5
    EXPECT_EQ(quantized({0x1.4p-76f, 0x1.4p-75f}, 0x1p-76f), (ints {1, 2}));
}

TEST_P(quantize_numerics, fpmath_modes_of_narrow_types_mean_strict) {
    for (const auto mode : {dg::fpmath_mode::bf16, dg::fpmath_mode::f16, dg::fpmath_mode::tf32})
        EXPECT_EQ(quantized({2.25f, 0x1.a3fffep+3f, nan}, 0.3f, 0, s8, mode), (ints {7, 44, -128}));
}

TEST_P(quantize_numerics, fpmath_mode_any_differs_next_to_a_tie_only) {
    const auto result = quantized({2.25f, 2.2f, 2.3f, -2.25f, nan, infinity}, 0.3f, 0, s8, dg::fpmath_mode::any);
    EXPECT_TRUE(result[0] == 7 || result[0] == 8) << result[0];
    EXPECT_TRUE(result[3] == -7 || result[3] == -8) << result[3];
    EXPECT_EQ((ints {result[1], result[2], result[4], result[5]}), (ints {7, 8, -128, 127}));
}

TEST_P(quantize_numerics, fpmath_mode_any_is_strict_for_extreme_parameters) {
    const auto any = dg::fpmath_mode::any;
    EXPECT_EQ(quantized({0x1.2p+81f}, 0.3f * 0x1p80f, 0, s8, any), (ints {7}));
    EXPECT_EQ(quantized({0x1.2p-79f}, 0.3f * 0x1p-80f, 0, s8, any), (ints {7}));
    EXPECT_EQ(quantized({0x1p-149f, 1}, 0x1p-149f, 0, s8, any), (ints {1, 127}));
    EXPECT_EQ(quantized({0, 1}, 0, 0, s8, any), (ints {-128, 127}));
    EXPECT_EQ(quantized({-0x1p31f}, 1, 2147483647, s8, any), (ints {0}));
}

INSTANTIATE_TEST_SUITE_P(kernels, quantize_numerics,
        testing::ValuesIn(each({kind::DynamicQuantize, kind::Quantize}, universal_variants())),
        testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
