// src/layers/depthwise: convolutions with one channel in each group, channels last. isa/ has one source for each
// instruction set; pairs_avx2.hpp has the loop. May include what src/layers may. Start here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "layers/integer_convolution.hpp"

namespace dynquant::layers {

/// Consecutive positions of y whose windows advance by the same step in x.
struct depthwise_span {
    const std::byte *const *taps;              // where the taps of the first window lie in x, an even number of them
    std::int64_t tap_count, positions, x_step; // x_step in bytes
    const std::int16_t *weights;               // pairs of taps, padded channels, taps of a pair
    std::int64_t channels, padded_channels;
    bool x_is_signed;
    std::int32_t *y; // positions, channels
};

using depthwise_function = void (*)(const depthwise_span &s);
extern const depthwise_function scalar_depthwise, avx2_depthwise, avx512_depthwise;

/// Null unless each channel is a group with one filter.
std::unique_ptr<const integer_sums> make_depthwise_convolution(const integer_convolution &p, const std::int8_t *w);

} // namespace dynquant::layers
