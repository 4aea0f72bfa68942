// src/layers/depthwise: convolutions with one channel in each group, channels last. isa/ has one source for each
// instruction set; pairs_avx2.hpp has the loop. May include what src/layers may. Start here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "layers/integer_convolution.hpp"

namespace dynquant::layers {

/// Consecutive positions of y whose windows advance by the same step in x.
struct depthwise_span {
    const std::byte *const *taps; // where the taps of the first window lie in x
    std::int64_t tap_count, positions,
            x_step;      // tap_count: a multiple of what the function takes at once; x_step in bytes
    const void *weights; // depthwise_pairs or depthwise_quads
    std::int64_t channels, padded_channels;
    bool x_is_signed;
    std::int32_t *y; // positions, channels
};

/// Layouts of weights less their zero points. Channels are padded to a multiple of 16 and taps to what is taken at
/// once. Two taps at once, for any weights: pairs of taps, channels, taps of a pair, of 16 bits. Four taps at once, for
/// x of u8 and weights of s8: 64 channels, or 16 of the remainder; quads of taps; 4 channels of each 16 after the
/// other; taps of a quad; of 8 bits.
template <typename Weight>
struct depthwise_layout {
    std::vector<std::size_t> taps; // which tap each multiplies
    std::vector<Weight> weights;
};
depthwise_layout<std::int16_t> depthwise_pairs(const integer_convolution &p, const std::int8_t *w);
/// Weights less their zero points that 8 bits do not hold are split: their taps come again with the rest.
depthwise_layout<std::int8_t> depthwise_quads(const integer_convolution &p, const std::int8_t *w);

using depthwise_function = void (*)(const depthwise_span &s);
/// By pairs.
extern const depthwise_function scalar_depthwise, avx2_depthwise, avx512_depthwise;
/// By quads. Precondition: AVX-512 VNNI.
extern const depthwise_function avx512_vnni_depthwise;

/// Null unless each channel is a group with one filter.
packed_convolution pack_depthwise_convolution(const integer_convolution &p, const std::int8_t *w);

} // namespace dynquant::layers
