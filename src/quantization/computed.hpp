// Computed scales: the formulas of dynquant/scale_rule.hpp for one block. The reference kernel uses them; the native
// kernel must give the same bits. The assumptions are those of numerics.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "dynquant/quantization.hpp"
#include "elements/load_store.hpp"
#include "elements/small_float.hpp"
#include "elements/table.hpp"
#include "quantization/numerics.hpp"

namespace dynquant::numerics_contract {

/// low <= 0 <= high. NaN in either makes the scale NaN.
struct value_range {
    float low = 0, high = 0;

    /// NaN stays: comparisons with it are false.
    void add(float x) {
        if (std::isnan(x)) low = high = __builtin_nanf("");
        if (x < low) low = x;
        if (x > high) high = x;
    }
};

/// What a rule's formulas need of a statement.
struct scale_formula {
    scale_rule rule;
    data_type scale_type;
    bool integral;
    float divisor;                // D
    float largest;                // M: the largest number of dst's type
    std::int32_t lowest, highest; // codes, if integral
    int exponent, fraction_bits;  // floor(log2 M); fraction bits, of integers those below M's highest bit
    float least, of_zero;

    explicit scale_formula(const quantization &q)
        : rule(*q.computed)
        , scale_type(q.scales.type)
        , integral(traits(q.dst.type).integral)
        , largest(static_cast<float>(traits(q.dst.type).highest))
        , lowest(integral ? static_cast<std::int32_t>(rule.narrow ? -largest : traits(q.dst.type).lowest) : 0)
        , highest(integral ? static_cast<std::int32_t>(largest) : 0)
        , exponent(std::ilogb(largest))
        , fraction_bits(integral ? exponent : traits(q.dst.type).fraction_bits)
        , least(static_cast<float>(rule.least) + 0.0F) // -0 becomes 0
        , of_zero(static_cast<float>(rule.of_zero) + 0.0F) {
        const auto codes = static_cast<float>(highest - lowest);
        divisor = !integral ? largest : rule.range == scale_range::absmax ? codes / 2 : codes;
    }

    float range(const value_range &r) const {
        if (rule.range == scale_range::minmax) return r.high - r.low;
        return -r.low > r.high ? -r.low : r.high + 0.0F; // + 0: low and high may be -0
    }

    /// The scale before it is rounded to its type; not for f8_e8m0. `global` is 1 without global scale.
    float unrounded_scale(float range, float global) const {
        if (range == 0) return of_zero;
        const float v = range / divisor / global;
        return std::isnan(v) ? __builtin_nanf("") : v > least ? v : least; // 0, not -0, under a negative global scale
    }

    /// The scale as stored.
    float scale(float range, float global) const {
        if (scale_type == data_type::f8_e8m0) return power_of_two(range);
        const float v = unrounded_scale(range, global);
        float stored = 0; // f16 and bf16 overflow to infinity, floats of 8 bits saturate
        store(scale_type, &stored, 0, v, traits(scale_type).bits == 8);
        return static_cast<float>(load(scale_type, &stored, 0));
    }

    /// By the bits of the range, which is not negative. k is clamped where the range is subnormal, except for rceil.
    float power_of_two(float range) const {
        constexpr std::uint32_t fraction = (1U << 23) - 1, infinity = 0x7f800000, min_power = 1U << 22; // 2^-127
        const bool by_quotient = rule.rounding == scale_rounding::rceil;
        auto bits = std::bit_cast<std::uint32_t>(by_quotient ? range / largest : range);
        if (std::isnan(range) || bits >= infinity) return __builtin_nanf("");
        switch (rule.rounding) {
            case scale_rounding::ceil: bits += fraction; break; // carries into the exponent unless a power of two
            case scale_rounding::rceil: bits = bits <= min_power ? 0 : bits + fraction; break;
            case scale_rounding::even: bits += 1U << (22 - fraction_bits); break;
            case scale_rounding::nearest:
            case scale_rounding::floor: break;
        }
        const auto k = static_cast<int>(bits >> 23) - (by_quotient ? 0 : exponent);
        return float8_e8m0 {static_cast<std::uint8_t>(std::clamp(k, 0, 254))}.value();
    }

    /// clamp(lowest - RNE(low / scale)). NaN gives the highest code, as in ONNX Runtime (GetQuantizationParameter in
    /// core/util/qmath.h) and in onnx.reference: 0 / 0 is that of a range so small that its scale rounds to 0.
    std::int32_t zero_point(float low, float scale) const {
        const float steps = std::nearbyint(-(low / scale));
        if (steps <= 0) return lowest;
        return steps < static_cast<float>(highest - lowest) ? lowest + static_cast<std::int32_t>(steps) : highest;
    }

    /// What x is divided or multiplied by. Where the range is 0, so is x.
    float operand(float range, float scale, float global) const {
        if (range == 0) return 1;
        switch (rule.quotient) {
            case scale_quotient::divide: break;
            case scale_quotient::multiply_reciprocal: return 1 / global / scale;
            case scale_quotient::multiply_range: return divisor / range;
        }
        return scale * global;
    }

    float quotient(float x, float operand) const {
        if (rule.special == nonfinite::skip && !std::isfinite(x)) x = 0;
        return rule.quotient == scale_quotient::divide ? x / operand : x * operand;
    }

    /// An integer code.
    std::int64_t code(float quotient, std::int32_t zero_point) const {
        return quantize_onnx(quotient, zero_point, lowest, highest);
    }
};

} // namespace dynquant::numerics_contract
