// A rescaling as hardware does it: a multiplication by an integer and a right shift (prequantized models, 3.1).
#pragma once

#include <cstdint>

namespace dynquant::layers {

/// The largest integer up to which floats hold all of them: Quant_scale is stored as one.
inline constexpr std::int64_t largest_quant_scale = std::int64_t {1} << 24;

/// Quant_scale * 2^-shift
struct rescale {
    std::int64_t quant_scale;
    int shift;

    double value() const;
};

/// The multiplier itself by the smallest integer, or where 24 bits do not hold it, the greatest that is less: 0.25 is
/// 1 * 2^-2, and 1/3 is 11184810 * 2^-25. The multiplier must have one.
rescale rescale_of(double multiplier);

/// Whether the multiplier has one: 2^-126 to 2^24.
bool has_rescale(double multiplier);

} // namespace dynquant::layers
