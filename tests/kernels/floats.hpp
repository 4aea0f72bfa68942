// Quantizes long ranges of the 2^32 floats by every kernel, and compares with the oracle.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {

struct float_case {
    float scale;
    std::int32_t zero_point;
};

/// Scales whose reciprocals are inexact, exact, huge and tiny; zero points that move ties onto odd and
/// even integers; and parameters at the fast division's guard and beyond it.
inline const std::vector<float_case> float_cases = {
        {0.1f, 0},
        {0.3f, 3},
        {0x1.3e046ep-4f, 0}, // a scale for which the division by two operations is not exact
        {0x1.42c896p+3f, 77},
        {0x1.fffffep-7f, -128},
        {-7.0f, 200},
        {0.25f, 1},
        {0x1.234566p75f, 5},
        {0x1.abcdeep-75f, (1 << 20) - 1},
        {0x1.abcdeep-76f, 0},
        {0.7f, 1 << 20},
        {0.7f, -6000000},
        {0x1.5p-140f, 2},
        {1.0f, INT32_MAX},
};

/// clamp(RNE(x / s) + zp). Rounding to double first does no harm: it has more than twice the bits of a float.
inline std::int64_t quantized_by_onnx(float x, const float_case &c, std::int64_t lowest, std::int64_t highest) {
    const double quotient = static_cast<float>(double {x} / c.scale);
    if (std::isnan(quotient)) return lowest;
    return static_cast<std::int64_t>(std::clamp(
            std::nearbyint(quotient) + c.zero_point, static_cast<double>(lowest), static_cast<double>(highest)));
}

/// The oracle's result for x, as bits.
inline std::uint8_t expected_bits(float x, const float_case &c, data_type integer, numerics rule) {
    const auto [lowest, highest] = range_of(integer);
    return static_cast<std::uint8_t>(rule == numerics::onnx
                    ? quantized_by_onnx(x, c, lowest, highest)
                    : oracle::quantize(x, c.scale, c.zero_point, lowest, highest));
}

/// Quantizes src by each variant and compares.
inline void expect_quantized(const float_case &c, data_type integer, const std::vector<float> &src,
        const std::vector<std::uint8_t> &expected, numerics rule) {
    const auto count = src.size();
    const auto extent = static_cast<std::int64_t>(count);
    auto q = statement_of(direction::quantize, data_type::f32, integer, {extent}, {extent},
            rule == numerics::onnx ? integer : data_type::s32);
    q.scales.values = {c.scale};
    q.zero_points->values = {static_cast<double>(c.zero_point)};
    q.rule = rule;

    std::vector<std::uint8_t> dst(count);
    const auto allowed = [&](std::size_t i) {
        const auto [lowest, highest] = range_of(integer);
        return dst[i] == expected[i]
                || (rule == numerics::any
                        && oracle::allows_any(
                                integer_from(integer, dst[i]), src[i], c.scale, c.zero_point, lowest, highest));
    };
    for (const auto &v : universal_variants()) {
        prepare(q, v.forced()).run({src.data(), nullptr, nullptr, dst.data()});
        if (dst == expected) continue;
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_TRUE(allowed(i)) << v << ": src " << std::hexfloat << src[i] << ", scale " << c.scale << ", zp "
                                    << c.zero_point << ", dst " << to_string(integer) << " with bits " << int {dst[i]}
                                    << ", expected bits " << int {expected[i]};
    }
}

/// `count` floats, whose bits are first, first + step, ...
inline std::vector<float> floats_from(std::uint32_t first, std::uint32_t step, std::size_t count) {
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i)
        result[i] = std::bit_cast<float>(first + static_cast<std::uint32_t>(i) * step);
    return result;
}

} // namespace dynquant::test
