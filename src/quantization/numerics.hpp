// The formulas: one element, exactly as the numerics contract states them. The reference kernel is made
// of these; every other kernel must give the same bits.
//
// They assume IEEE 754 binary32, round to nearest even, no flush to zero, no contraction: see
// parallel/float_control.hpp and -ffp-contract=off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dynquant::numerics_contract {

/// clamp(RNE(f32(f32(x / s) + f32(zp)))); NaN gives the lowest value.
/// Clamping first is the same, as the bounds are integers, and keeps the conversion defined.
template <typename Dst>
Dst quantize(float x, float s, std::int32_t zp) {
    constexpr float lowest = std::numeric_limits<Dst>::lowest();
    constexpr float highest = std::numeric_limits<Dst>::max();
    const float real = x / s + static_cast<float>(zp);
    if (std::isnan(real)) return std::numeric_limits<Dst>::lowest();
    return static_cast<Dst>(std::nearbyint(std::clamp(real, lowest, highest)));
}

/// f32(f32(q - zp) * s); the difference is exact before it is rounded to f32.
template <typename Src>
float dequantize(Src q, float s, std::int32_t zp) {
    return static_cast<float>(std::int64_t {q} - zp) * s;
}

} // namespace dynquant::numerics_contract
