// The native kernel folds two multipliers of requantize into one exactly where the bits stay the same.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

/// Sums at the ends of s32, sums that f32 does not represent and their neighbours, and sums whose 24-bit products are
/// ties.
std::vector<std::int32_t> edges() {
    std::vector<std::int32_t> sums = {0, 1, -1, 2, 3, 5, -5, 7, 65281, -65281, 16777213, 1398101, INT32_MAX, INT32_MIN,
            INT32_MAX - 63, INT32_MAX - 64, INT32_MIN + 64};
    for (int n = 1; n < 31; ++n)
        for (const int beside : {-1, 0, 1}) {
            sums.push_back((1 << n) + beside);
            sums.push_back(-(3 << n >> 1) + beside);
        }
    return sums;
}

quantization by(std::vector<double> scales, std::vector<double> second, std::int64_t sums) {
    quantization q;
    q.dir = direction::requantize;
    q.src = {data_type::s32, {sums, static_cast<std::int64_t>(scales.size())}, {}};
    q.dst = {data_type::s8, q.src.dims, {}};
    q.scales = {data_type::f32, {sums, 1}, std::move(scales)};
    q.second_scales = {data_type::f32, {sums, 1}, std::move(second)};
    return q;
}

bool folds(const quantization &q) {
    return prepare(q, {.kernel = kernel_kind::native}).info().folded;
}

bool folds(float scale, float second) {
    return folds(by({scale}, {second}, 4));
}

TEST(fold, shifts_and_what_they_shift) {
    for (const float second : {1.0F, 0.5F, 0x1p-25F, 0x1p-126F, 0x1p-127F, 0x1p-149F})
        for (const float scale : {0.0F, 1.0F, -3.0F, 11184810.0F, 0x1p24F, 0x1p96F, 0.1F, 0x1p-149F, -0x1.8p-130F})
            EXPECT_TRUE(folds(scale, second)) << scale << " and " << second;
}

TEST(fold, not_others) {
    for (const float second : {0.0F, -0.5F, 0.75F, 2.0F, 3.0F, 0x1.8p-148F, infinity, nan, 0x1.000002p-3F})
        EXPECT_FALSE(folds(1, second)) << second;
    for (const float scale : {infinity, -infinity, nan, 0x1.000002p96F})
        EXPECT_FALSE(folds(scale, 0.5F)) << scale;
    EXPECT_FALSE(folds(by({1, 1}, {0.5, 0.7F}, 4))) << "one of them is no shift";
}

TEST(fold, not_what_is_given_at_run) {
    auto q = by({1}, {0.5}, 4);
    q.scales.values.clear();
    EXPECT_FALSE(folds(q));
    q = by({1}, {0.5}, 4);
    q.second_scales->values.clear();
    EXPECT_FALSE(folds(q));
    q.second_scales.reset();
    EXPECT_FALSE(folds(q)) << "nothing to fold";
    EXPECT_FALSE(prepare(by({1}, {0.5}, 4), {.kernel = kernel_kind::reference}).info().folded);
}

TEST(fold, keeps_the_bits_of_two_multipliers) {
    std::vector<double> scales, second;
    for (const float s : {0.0F, 1.0F, 3.0F, -5.0F, 257.0F, 4095.0F, 4097.0F, 11184810.0F, 16777215.0F, 0x1p24F,
                 0x1.fffffep95F, 0x1p96F, 0.1F, 0x1p-149F, 0x1.8p-130F, 0x1.fffffep-127F})
        for (int n : {0, 1, 2, 7, 24, 25, 31, 54, 55, 56, 70, 94, 96, 101, 119, 120, 125, 126, 127, 128, 148, 149}) {
            scales.push_back(s);
            second.push_back(std::ldexp(1.0, -n));
        }
    // Every sum with every pair of multipliers. Each column has its pair.
    const auto sums = edges();
    std::vector<std::int32_t> src;
    for (const auto sum : sums)
        src.insert(src.end(), scales.size(), sum);
    const auto q = by(scales, second, static_cast<std::int64_t>(sums.size()));
    ASSERT_TRUE(folds(q));
    const sample s(q, {bytes_of(src), {}, {}});
    EXPECT_TRUE(computed_right(s, variants_for(s)));
}

} // namespace
} // namespace dynquant::test
