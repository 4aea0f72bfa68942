#include "computed.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "elements.hpp"
#include "exact.hpp"
#include "statements.hpp"

namespace dynquant::test::oracle {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000U, infinity_bits = 0x7f800000U;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Magnitudes are ordered as their bits; NaNs are above infinity.
std::uint32_t magnitude_of(float value) {
    return std::bit_cast<std::uint32_t>(value) & ~sign_bit;
}
bool is_negative(float value) {
    return (std::bit_cast<std::uint32_t>(value) & sign_bit) != 0;
}
bool is_nan(float value) {
    return magnitude_of(value) > infinity_bits;
}
bool is_finite(float value) {
    return magnitude_of(value) < infinity_bits;
}
bool is_zero(float value) {
    return magnitude_of(value) == 0;
}

struct codes {
    std::int64_t lowest, highest;
};

codes codes_of(const quantization &q) {
    const auto range = range_of(q.dst.type);
    return {q.computed->narrow ? -range.highest : range.lowest, range.highest};
}

/// The largest number of dst's type.
float largest_of(data_type type) {
    if (is_integer(type)) return from_integer(range_of(type).highest);
    const float infinity = std::bit_cast<float>(infinity_bits);
    return real_from(type, bits_of_real(type, infinity, true));
}

/// D
float divisor_of(const quantization &q) {
    if (!is_integer(q.dst.type)) return largest_of(q.dst.type);
    const auto [lowest, highest] = codes_of(q);
    const auto steps = from_integer(highest - lowest);
    return q.computed->range == scale_range::minmax ? steps : divide(steps, 2);
}

/// The fraction bits of dst's numbers; of an integer type, of its highest number.
int fraction_bits_of(data_type type) {
    switch (type) {
        case data_type::f8_e4m3:
        case data_type::f6_e2m3: return 3;
        case data_type::f8_e5m2:
        case data_type::f6_e3m2: return 2;
        case data_type::f4_e2m1: return 1;
        default:
            if (!is_integer(type)) throw std::logic_error("expected the fraction bits of each float above");
            return exact::width(static_cast<exact::wide>(range_of(type).highest)) - 1;
    }
}

/// floor(log2 value) and ceil(log2 value) of a positive number.
int floor_log2(const exact::real &value) {
    return value.exponent + exact::width(value.magnitude) - 1;
}
int ceil_log2(const exact::real &value) {
    return floor_log2(value) + ((value.magnitude & (value.magnitude - 1)) == 0 ? 0 : 1);
}

/// The bits of an f8_e8m0 scale: k + 127.
std::uint32_t power_of_two(const quantization &q, float range) {
    if (!is_finite(range)) return 0xff;
    if (is_zero(range)) return 0;
    const float largest = largest_of(q.dst.type);
    const int e = floor_log2(exact::of_float(largest));
    auto r = exact::of_float(range);
    int k = 0;
    switch (q.computed->rounding) {
        case scale_rounding::nearest: // not with f8_e8m0
        case scale_rounding::floor: k = floor_log2(r) - e; break;
        case scale_rounding::ceil: k = ceil_log2(r) - e; break;
        case scale_rounding::even: {
            // Half of the last fraction bit, added in front of the dropped bits.
            r.magnitude <<= 32;
            r.exponent -= 32;
            r.magnitude += exact::wide {1} << (exact::width(r.magnitude) - 2 - fraction_bits_of(q.dst.type));
            k = floor_log2(r) - e;
            break;
        }
        case scale_rounding::rceil: {
            const float quotient = divide(range, largest);
            k = is_zero(quotient) ? -127 : ceil_log2(exact::of_float(quotient));
            break;
        }
    }
    return static_cast<std::uint32_t>(std::clamp(k, -127, 127) + 127);
}

/// max(v, least), NaN kept. `least` is not negative.
float at_least(float v, float least) {
    if (is_nan(v)) return v;
    return is_negative(v) || magnitude_of(v) < magnitude_of(least) ? least : v;
}

std::uint32_t scale_bits(const quantization &q, float range, float global_scale) {
    const auto &rule = *q.computed;
    const auto type = q.scales.type;
    if (type == data_type::f8_e8m0) return power_of_two(q, range);
    const float v = is_zero(range)
            ? static_cast<float>(rule.of_zero)
            : at_least(divide(divide(range, divisor_of(q)), global_scale), static_cast<float>(rule.least));
    return bits_of_real(type, v, type == data_type::f8_e4m3);
}

float quotient_of(const quantization &q, const computed_block &block, float x, float global_scale) {
    if (is_zero(block.range)) return x;
    const float scale = real_from(q.scales.type, block.scale);
    switch (q.computed->quotient) {
        case scale_quotient::divide: return divide(x, multiply(scale, global_scale));
        case scale_quotient::multiply_reciprocal: return multiply(x, divide(divide(1, global_scale), scale));
        default: return multiply(x, divide(divisor_of(q), block.range)); // multiply_range
    }
}

/// clamp(from + sign * RNE(steps)); NaN gives the lowest code.
std::int64_t clamped(const codes &c, std::int64_t from, float steps, int sign) {
    if (is_nan(steps)) return c.lowest;
    return std::clamp(from + sign * exact::to_integer(exact::number_of(steps)), c.lowest, c.highest);
}

} // namespace

computed_block compute_block(const quantization &q, const std::vector<float> &values, float global_scale) {
    const auto &rule = *q.computed;
    const bool minmax = rule.range == scale_range::minmax;
    float high = 0, low = 0; // largest magnitudes, of positive and of negative values
    bool any_nan = false;
    for (const float x : values) {
        if (rule.special == nonfinite::skip && !is_finite(x)) continue;
        any_nan = any_nan || is_nan(x);
        float &limit = minmax && is_negative(x) ? low : high;
        const float magnitude = std::bit_cast<float>(magnitude_of(x));
        if (magnitude_of(x) > magnitude_of(limit)) limit = magnitude;
    }
    computed_block block {};
    block.low = any_nan ? nan : std::bit_cast<float>(magnitude_of(low) == 0 ? 0 : magnitude_of(low) | sign_bit);
    block.range = any_nan ? nan : add(high, low);
    block.scale = scale_bits(q, block.range, global_scale);
    if (q.zero_points) {
        const auto c = codes_of(q);
        const float steps = divide(block.low, real_from(q.scales.type, block.scale));
        block.zero_point = is_nan(steps) ? c.highest : clamped(c, c.lowest, steps, -1);
    }
    return block;
}

std::uint32_t code_of(const quantization &q, const computed_block &block, float x, float global_scale) {
    if (q.computed->special == nonfinite::skip && !is_finite(x)) x = 0;
    const float quotient = quotient_of(q, block, x, global_scale);
    if (!is_integer(q.dst.type)) return bits_of_real(q.dst.type, quotient, q.saturate);
    return static_cast<std::uint32_t>(clamped(codes_of(q), block.zero_point, quotient, 1));
}

} // namespace dynquant::test::oracle
