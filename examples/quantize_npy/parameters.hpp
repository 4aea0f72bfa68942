// Derives scales and zero points for a tensor, and measures the error of quantization.
#pragma once

#include <cstdint>
#include <vector>

#include "round_trip.hpp"

namespace example {

/// One scale and one zero point for each channel. Quantization is asymmetric: the range of the channel's finite values
/// and 0 maps to all integers of the type.
struct parameters {
    std::vector<float> scales;
    std::vector<std::int32_t> zps;
    std::int64_t zero_channels = 0; // channels whose finite values are all 0; their scale is 1
    std::int64_t not_finite = 0;    // NaN and infinities in the tensor
};

/// Precondition: src is dense, with the statement's strides.
parameters derive(const statement &s, const float *src);

/// Errors over the finite elements of src.
struct quality {
    double largest_error = 0;     // in units of the channel's scale
    double signal = 0, noise = 0; // sums of squares
};

quality compare(const statement &s, const float *src, const float *restored, const std::vector<float> &scales);

} // namespace example
