// The oracle, which other tests trust, agrees with values worked out by hand and with the processor's arithmetic in
// double precision.
#include "oracle/statements.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "oracle/onnx.hpp"
#include "support/random.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float least = std::numeric_limits<float>::denorm_min(); // 2^-149
constexpr float largest = std::numeric_limits<float>::max();

std::int64_t to_s8(float x, float s, std::int32_t zp = 0) {
    return oracle::quantize(x, s, zp, -128, 127);
}

std::int64_t to_u8(float x, float s, std::int32_t zp = 0) {
    return oracle::quantize(x, s, zp, 0, 255);
}

TEST(oracle, divides_as_the_hardware_does_and_beyond_its_normal_range) {
    EXPECT_EQ(oracle::divide(1, 3), 0x1.555556p-2f); // 0.0101010101...: the 25th bit is 1, and more follows
    EXPECT_EQ(oracle::divide(2, 3), 0x1.555556p-1f);
    EXPECT_EQ(oracle::divide(-6, 3), -2);
    EXPECT_EQ(oracle::divide(least, 2), 0);             // a tie between 0 and the least, to even
    EXPECT_EQ(oracle::divide(3 * least, 2), 2 * least); // a tie between 1 and 2 of them, to even
    EXPECT_EQ(oracle::divide(least, 0.7f), least);      // 1.43 of them
    EXPECT_EQ(oracle::divide(least, 0.6f), 2 * least);  // 1.67 of them
    EXPECT_EQ(oracle::divide(largest, 0.5f), infinity);
    EXPECT_EQ(oracle::divide(-largest, least), -infinity);
    EXPECT_EQ(oracle::divide(1, 0), infinity);
    EXPECT_EQ(oracle::divide(1, -0.0f), -infinity);
    EXPECT_EQ(oracle::divide(infinity, -2), -infinity);
    EXPECT_TRUE(std::signbit(oracle::divide(1, -infinity)));
    EXPECT_TRUE(std::isnan(oracle::divide(0, 0)));
    EXPECT_TRUE(std::isnan(oracle::divide(infinity, infinity)));
    EXPECT_TRUE(std::isnan(oracle::divide(nan, 1)));
    EXPECT_TRUE(std::isnan(oracle::divide(1, nan)));
}

TEST(oracle, adds_with_one_rounding) {
    EXPECT_EQ(oracle::add(1, 0x1p-24f), 1); // half a unit: a tie, to even
    EXPECT_EQ(oracle::add(1, 0x1.000002p-24f), 0x1.000002p0f);
    EXPECT_EQ(oracle::add(0x1.000002p0f, 0x1p-24f), 0x1.000004p0f);
    EXPECT_EQ(oracle::add(0x1p24f, -least), 0x1p24f); // far apart
    EXPECT_EQ(oracle::add(1, -0x1p-25f), 1);          // half a unit below 1: a tie, to even
    EXPECT_EQ(oracle::add(1, -0x1.8p-25f), 0x1.fffffep-1f);
    EXPECT_EQ(oracle::add(1, -1), 0);
    EXPECT_FALSE(std::signbit(oracle::add(1, -1)));
    EXPECT_FALSE(std::signbit(oracle::add(-0.0f, 0.0f)));
    EXPECT_TRUE(std::isnan(oracle::add(infinity, -infinity)));
    EXPECT_EQ(oracle::add(largest, largest), infinity);
}

TEST(oracle, quantizes_by_hand) {
    EXPECT_EQ(to_s8(2.5f, 1), 2);
    EXPECT_EQ(to_s8(3.5f, 1), 4);
    EXPECT_EQ(to_s8(-2.5f, 1), -2);
    EXPECT_EQ(to_s8(2.5f, 1, 1), 4); // 3.5
    EXPECT_EQ(to_s8(1e30f, 1), 127);
    EXPECT_EQ(to_s8(-1e30f, 1), -128);
    EXPECT_EQ(to_u8(-0.5f, 1), 0);
    EXPECT_EQ(to_u8(255.5f, 1), 255);
    EXPECT_EQ(to_s8(nan, 1), -128);
    EXPECT_EQ(to_u8(nan, 1), 0);
    EXPECT_EQ(to_s8(0, 0), -128);
    EXPECT_EQ(to_s8(1, infinity, 5), 5);
    // f32(1000 + INT32_MAX) = 2147484648 rounded to a multiple of 256; it saturates either way.
    EXPECT_EQ(to_s8(1000, 1, INT32_MAX), 127);
    EXPECT_EQ(to_s8(-0x1p31f, 1, INT32_MAX), 0);          // INT32_MAX is 2^31 as a float
    EXPECT_EQ(to_s8(-0x1.fffffep30f, 1, INT32_MAX), 127); // the float below, 2^31 - 128
    // 16777217 is 16777216 as a float, so one is lost before the sum.
    EXPECT_EQ(to_s8(-16777216, 1, 16777217), 0);
}

TEST(oracle, dequantizes_by_hand) {
    EXPECT_EQ(oracle::dequantize(3, 0.5f, 1), 1);
    EXPECT_EQ(oracle::dequantize(-128, 0.25f, 127), -63.75f);
    // 127 + 2^31 = 2147483775, between 2147483648 and 2147483904, and below their middle.
    EXPECT_EQ(oracle::dequantize(127, 1, INT32_MIN), 0x1p31f);
    EXPECT_EQ(oracle::dequantize(-128, 1, INT32_MAX), -0x1p31f); // -2147483775
    EXPECT_EQ(oracle::dequantize(1, 1, -16777216), 16777216);    // 16777217: a tie, to even
    EXPECT_EQ(oracle::dequantize(3, 1, -16777216), 16777220);    // 16777219: a tie, to even
    EXPECT_EQ(oracle::dequantize(3, least, 0), 3 * least);
    EXPECT_EQ(oracle::dequantize(1, 0x1.8p-149f, 0), oracle::multiply(1, 0x1.8p-149f));
    EXPECT_TRUE(std::signbit(oracle::dequantize(5, -1, 5)));
    EXPECT_TRUE(std::isnan(oracle::dequantize(5, infinity, 5)));
    EXPECT_EQ(oracle::dequantize(6, -infinity, 5), -infinity);
    EXPECT_EQ(oracle::dequantize(255, largest, 0), infinity);
}

TEST(oracle, allows_the_reciprocal_only_under_any_and_in_the_guard) {
    // 0.3f is 0.3 + 1.2e-8, so 2.25 / 0.3f = 7.4999997, nearest to the float 7.4999995. 1 / 0.3f rounds to
    // 3.33333325, and 2.25 times that is 7.49999982, nearest to 7.5: the tie goes to 8.
    EXPECT_EQ(to_s8(2.25f, 0.3f), 7);
    EXPECT_TRUE(oracle::allows_any(7, 2.25f, 0.3f, 0, -128, 127));
    EXPECT_TRUE(oracle::allows_any(8, 2.25f, 0.3f, 0, -128, 127));
    EXPECT_FALSE(oracle::allows_any(6, 2.25f, 0.3f, 0, -128, 127));
    EXPECT_FALSE(oracle::allows_any(8, 2.24f, 0.3f, 0, -128, 127));
    EXPECT_FALSE(oracle::allows_any(127, nan, 0.3f, 0, -128, 127));
    EXPECT_FALSE(oracle::allows_any(8, std::ldexp(2.25f, 80), std::ldexp(0.3f, 80), 0, -128, 127));
}

// Two floats' sum, product or quotient rounded to double and then to float is rounded once, in effect,
// where the result is a normal float: 53 >= 2 * 24 + 2 (Figueroa, "When is double rounding innocuous?",
// 1995).
TEST(oracle, divides_in_f16_by_hand) {
    const auto by = [](std::uint32_t x, std::uint32_t scale) {
        return oracle::quantize_onnx(
                       {oracle::number_from(data_type::f16, x), oracle::number_from(data_type::f16, scale),
                               oracle::number_of_integer(0), precision::f16},
                       data_type::s8, false)
                & 0xff;
    };
    EXPECT_EQ(by(0x4100, 0x3c00), 2U);    // 2.5 / 1: ties to even
    EXPECT_EQ(by(0xc300, 0x3c00), 0xfcU); // -3.5 / 1
    EXPECT_EQ(by(0x3800, 0x3c00), 0U);    // 0.5 / 1
    EXPECT_EQ(by(0x3801, 0x3c00), 1U);    // the next f16 / 1
    EXPECT_EQ(by(0x4080, 0x4200), 1U);    // 2.25 / 3 = 0.75
    EXPECT_EQ(by(0x58b5, 0x3e83), 92U);   // 150.625 / 1.6279296875 = 92.525: see docs/onnx_operators.md
    EXPECT_EQ(by(0x0300, 0x0400), 1U);    // 3 * 2^-16 / 2^-14 = 0.75
    EXPECT_EQ(by(0x7c00, 0x3c00), 127U);  // infinity
    EXPECT_EQ(by(0xfe00, 0x3c00), 0x80U); // NaN
}

TEST(oracle, agrees_with_double_precision) {
    random_source random(1);
    for (int i = 0; i < 1000000; ++i) {
        const float a = random.exponent_within(-15, 16), b = random.exponent_within(-15, 16); // sums need rounding
        const double da = a, db = b;
        ASSERT_EQ(oracle::divide(a, b), static_cast<float>(da / db)) << std::hexfloat << a << " / " << b;
        ASSERT_EQ(oracle::multiply(a, b), static_cast<float>(da * db)) << std::hexfloat << a << " * " << b;
        ASSERT_EQ(oracle::add(a, b), static_cast<float>(da + db)) << std::hexfloat << a << " + " << b;
        const auto integer = static_cast<std::int32_t>(random.within(INT32_MIN, INT32_MAX)) >> (i % 32);
        ASSERT_EQ(oracle::from_integer(integer), static_cast<float>(integer));
    }
}

} // namespace
} // namespace dynquant::test
