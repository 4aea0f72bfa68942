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
    const std::int32_t *start; // of each channel's sums, with the padding; null, as for quads: 0
    std::int32_t *y;           // positions, channels
};

/// Weights less their zero points, as they lie in memory: line by line. Taps are padded to what is taken at once,
/// channels to a multiple of 16. "c1 t0" is the weight of tap 0 in channel 1.
///
/// depthwise_pairs: two taps at once, of 16 bits, for any weights. All channels, from pair to pair.
///
///     taps 0, 1:    c0 t0   c0 t1   c1 t0   c1 t1   ...   c15 t0   c15 t1   c16 t0   ...
///     taps 2, 3:    c0 t2   c0 t3   c1 t2   c1 t3   ...   c15 t2   c15 t3   c16 t2   ...
///
/// depthwise_quads: four taps at once, of 8 bits, for x of u8 and weights of s8. 64 channels from quad to quad, then
/// the next 64; of the remainder 16 at a time. A cell has four channels by the four taps of its quad:
///
///     channels 0 to 3, taps 0 to 3:   c0 t0   c0 t1   c0 t2   c0 t3   c1 t0   c1 t1   ...   c3 t3
///
/// 16 channels have their cells in order. Of 64 channels, a vector has one cell of each 16, as VPUNPCK leaves them: it
/// interleaves the bytes of four taps in each quarter of a vector alone.
///
///                     vector 0                  vector 1                  vector 2                  vector 3
///     taps 0 to 3:    c0-3 c16-19 c32-35 c48-51 c4-7 c20-23 c36-39 c52-55 c8-11 c24-27 c40-43 c56-59 c12-15 ... c60-63
///     taps 4 to 7:    c0-3 c16-19 ...
///
///     16 channels     a vector of 128 bits each
///     taps 0 to 3:    c0-3 c4-7 c8-11 c12-15
template <typename Weight>
struct depthwise_layout {
    std::vector<std::size_t> taps; // which tap each multiplies
    line_vector<Weight> weights;
};
depthwise_layout<std::int16_t> depthwise_pairs(const integer_convolution &p, const constant_weights &w);
/// Weights less their zero points that 8 bits do not hold are split: their taps come again with the rest.
depthwise_layout<std::int8_t> depthwise_quads(const integer_convolution &p, const constant_weights &w);

using depthwise_function = void (*)(const depthwise_span &s);
/// By pairs.
extern const depthwise_function scalar_depthwise, avx2_depthwise, avx512_depthwise;
/// By quads. Precondition: AVX-512 VNNI.
extern const depthwise_function avx512_vnni_depthwise;

/// Null unless each channel is a group with one filter.
packed_convolution pack_depthwise_convolution(const integer_convolution &p, const constant_weights &w);

} // namespace dynquant::layers
