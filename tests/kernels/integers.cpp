// Every s8 and u8 value is dequantized right, under zero points and scales that need each kind of rounding.
#include <gtest/gtest.h>

#include <limits>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

struct integer_case {
    float scale;
    std::int32_t zero_point;
};

class integers : public testing::TestWithParam<integer_case> {};

TEST_P(integers, are_dequantized_right) {
    const auto [scale, zero_point] = GetParam();
    for (const auto type : {data_type::s8, data_type::u8}) {
        const auto q = statement_of(direction::dequantize, data_type::f32, type, {256}, {256}, data_type::s32);
        std::vector<std::uint8_t> src(256);
        for (std::size_t i = 0; i < src.size(); ++i)
            src[i] = static_cast<std::uint8_t>(i);
        EXPECT_TRUE(
                computed_right({q, {bytes_of(src), bytes_of(std::vector {scale}), bytes_of(std::vector {zero_point})}},
                        universal_variants()));
    }
}

// The difference exceeds 24 bits from 2^24 on, and 32 bits at the ends of s32.
INSTANTIATE_TEST_SUITE_P(zero_points, integers, testing::ValuesIn([] {
    std::vector<integer_case> cases;
    for (const std::int32_t zero_point : {0, 1, -1, 127, -128, 255, (1 << 24) - 256, (1 << 24) - 1, 1 << 24,
                 (1 << 24) + 1, -(1 << 24) - 1, 123456789, INT32_MAX, INT32_MAX - 1, INT32_MAX - 126, INT32_MAX - 127,
                 INT32_MAX - 254, INT32_MAX - 255, INT32_MAX - 256, INT32_MIN, INT32_MIN + 1, INT32_MIN + 127,
                 INT32_MIN + 255, INT32_MIN + 256})
        for (const float scale : {1.0f, 0.1f, -0x1.234566p-3f})
            cases.push_back({scale, zero_point});
    return cases;
}()));

INSTANTIATE_TEST_SUITE_P(scales, integers, testing::ValuesIn([] {
    using limits = std::numeric_limits<float>;
    std::vector<integer_case> cases;
    for (const float scale :
            {0.0f, -0.0f, limits::denorm_min(), 0x1.8p-149f, -0x1.fffffcp-127f, limits::min(), 0x1.8p-130f,
                    limits::max(), limits::lowest(), limits::infinity(), -limits::infinity(), limits::quiet_NaN()})
        for (const std::int32_t zero_point : {0, 7, INT32_MIN})
            cases.push_back({scale, zero_point});
    return cases;
}()));

} // namespace
} // namespace dynquant::test
