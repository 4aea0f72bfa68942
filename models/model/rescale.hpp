// A rescaling as hardware does it: a multiplication by an integer and a right shift (Hanebutte et al., "Pre-Quantized
// Deep Learning Models Codified in ONNX", section 3.1).
#pragma once

#include <cstdint>

namespace dynquant::models {

/// Quant_scale is stored as a float, which holds all integers up to 2^24.
inline constexpr std::int64_t largest_quant_scale = std::int64_t {1} << 24;

/// Quant_scale * 2^-shift
struct rescale {
    std::int64_t quant_scale;
    int shift;

    double value() const;
};

/// The multiplier exactly, by the smallest integer; or rounded down to 24 bits. 0.25 is 1 * 2^-2, and 1/3 is about
/// 11184810 * 2^-25. Precondition: has_rescale(multiplier).
rescale rescale_of(double multiplier);

/// Whether the multiplier is within 2^-126 to 2^24, where a rescale exists.
bool has_rescale(double multiplier);

} // namespace dynquant::models
