// The formulas for one element, exactly as the numerics contract states them. The reference kernel uses them; every
// other kernel must give the same bits.
//
// They assume IEEE 754 binary32, round to nearest even, no flush to zero, no contraction: see
// parallel/float_control.hpp and -ffp-contract=off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dynquant/quantization.hpp"
#include "elements/small_float.hpp"

namespace dynquant::numerics_contract {

/// clamp(RNE(real)); NaN gives the lowest value. The bounds are those of an integer type of at most 8 bits. Clamping
/// before rounding gives the same result, as the bounds are integers, and keeps the conversion defined.
inline std::int32_t rounded_and_clamped(float real, float lowest, float highest) {
    if (std::isnan(real)) return static_cast<std::int32_t>(lowest);
    return static_cast<std::int32_t>(std::nearbyint(std::clamp(real, lowest, highest)));
}

/// clamp(RNE(f32(f32(x / s) + f32(zp))))
inline std::int32_t quantize(float x, float s, std::int32_t zp, float lowest, float highest) {
    return rounded_and_clamped(x / s + static_cast<float>(zp), lowest, highest);
}

/// f32(f32(q - zp) * s); the difference is exact before it is rounded to f32.
inline float dequantize(std::int64_t q, float s, std::int64_t zp) {
    return static_cast<float>(q - zp) * s;
}

/// Narrow floats: f32(x / s), which the caller rounds to dst's type; f32(q * s) and f32(f32(q - zp) * s).
inline float quantize_to_float8(float x, float s) {
    return x / s;
}
inline float dequantize_float(float q, float s) {
    return q * s;
}
inline float dequantize_float(float q, float s, float zp) {
    return (q - zp) * s;
}

// ---- numerics::onnx, of values that doubles hold exactly ----

/// Rounds to odd: an inexact value becomes the neighbouring float whose last bit is set. Rounding the result to a
/// format of at most 22 bits then gives the same as rounding the double (Boldo and Melquiond, 2008).
inline float round_to_odd(double value) {
    const auto nearest = static_cast<float>(value);
    if (nearest == value || value != value) return nearest;
    const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
    const bool above = std::abs(static_cast<double>(nearest)) > std::abs(value);
    return __builtin_bit_cast(float, (above ? bits - 1 : bits) | 1);
}

/// Rounds to the nearest number of a precision.
inline double rounded(double value, precision to) {
    switch (to) {
        case precision::f32: return static_cast<float>(value);
        case precision::f16: return float16::from(round_to_odd(value)).value();
        case precision::bf16: return bfloat16::from(round_to_odd(value)).value();
        case precision::f64: break;
    }
    return value;
}

/// x / s in a precision, to which the operands are rounded first.
inline double quotient(double x, double s, precision in) {
    const double dividend = rounded(x, in), divisor = rounded(s, in);
    if (in == precision::f64) return dividend / divisor;
    return rounded(static_cast<float>(dividend) / static_cast<float>(divisor), in);
}

/// clamp(RNE(quotient) + zp); NaN gives the lowest value. The bounds and the zero point are those of an integer type of
/// at most 32 bits, so that their differences are exact, and clamping first keeps the conversion defined.
inline std::int64_t quantize_onnx(double quotient, std::int64_t zp, double lowest, double highest) {
    if (std::isnan(quotient)) return static_cast<std::int64_t>(lowest);
    const auto offset = static_cast<double>(zp);
    return static_cast<std::int64_t>(std::clamp(std::nearbyint(quotient), lowest - offset, highest - offset)) + zp;
}

/// quotient + zp in a precision. Both operands have at most f32's precision, so that rounding the sum to f64 first
/// changes nothing.
inline double add_zero_point(double quotient, double zp, precision in) {
    return rounded(quotient + rounded(zp, in), in);
}

} // namespace dynquant::numerics_contract
