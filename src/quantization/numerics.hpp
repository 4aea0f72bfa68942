// The formulas: one element, exactly as the numerics contract states them. The reference kernel is made
// of these; every other kernel must give the same bits.
//
// They assume IEEE 754 binary32, round to nearest even, no flush to zero, no contraction: see
// parallel/float_control.hpp and -ffp-contract=off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dynquant::numerics_contract {

/// clamp(RNE(f32(f32(x / s) + f32(zp)))); NaN gives the lowest value. The bounds are those of an integer type of at
/// most 8 bits. Clamping first is the same, as they are integers, and keeps the conversion defined.
inline std::int32_t quantize(float x, float s, std::int32_t zp, float lowest, float highest) {
    const float real = x / s + static_cast<float>(zp);
    if (std::isnan(real)) return static_cast<std::int32_t>(lowest);
    return static_cast<std::int32_t>(std::nearbyint(std::clamp(real, lowest, highest)));
}

/// f32(f32(q - zp) * s); the difference is exact before it is rounded to f32.
inline float dequantize(std::int32_t q, float s, std::int32_t zp) {
    return static_cast<float>(std::int64_t {q} - zp) * s;
}

/// 8-bit floats, which have no zero points: f32(x / s), to be rounded to one, and f32(q * s).
inline float quantize_to_float8(float x, float s) {
    return x / s;
}
inline float dequantize_float8(float q, float s) {
    return q * s;
}

} // namespace dynquant::numerics_contract
