// src/layers/conv/depthwise: convolutions with one channel in each group, channels last. isa/ has one source for each
// instruction set; pairs.hpp and quads.hpp have the loops. Start here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "layers/conv/integer_convolution.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// Consecutive positions of y whose windows advance by the same step in x.
struct depthwise_span {
    const std::byte *const *taps; // where the taps of the first window lie in x
    std::int64_t tap_count, positions,
            x_step;      // tap_count: a multiple of what the function takes at once; x_step in bytes
    const void *weights; // depthwise_pairs or depthwise_quads
    std::int64_t channels, lanes;
    bool x_is_signed;
    const std::int32_t *start; // of each lane's sums; null: 0
    std::int32_t *y;           // positions, channels
};

/// Weights less their zero points, as they lie in memory: line by line. Taps are in order, some of them twice, the last
/// ones by weights of 0, so that they are a multiple of what is taken at once. Each sum has a lane of 32 bits, whose
/// weights are "c1 t0", that of tap 0 in channel 1, and so on. Lanes are a multiple of 32.
///
/// depthwise_pairs: two taps at once, of 16 bits, for any weights. Channel c has lane c.
///
///     taps 0, 1:    c0 t0   c0 t1   c1 t0   c1 t1   ...   c15 t0   c15 t1   c16 t0   ...
///     taps 2, 3:    c0 t2   c0 t3   c1 t2   c1 t3   ...   c15 t2   c15 t3   c16 t2   ...
///
/// depthwise_quads: four taps at once, of 8 bits, for x of u8 and weights of s8. Groups of 64 channels, then of 32, the
/// last of which ends with the last channel. A vector of a group has four channels of each 16, as VPUNPCK leaves them:
/// it interleaves the bytes of four taps in each 128 bits of a vector alone.
///
///     64 channels     vector 0                  vector 1                  vector 2                  vector 3
///     taps 0 to 3:    c0-3 c16-19 c32-35 c48-51 c4-7 c20-23 c36-39 c52-55 c8-11 c24-27 c40-43 c56-59 c12-15 ... c60-63
///
///     32 channels     vector 0     vector 1     vector 2      vector 3
///     taps 0 to 3:    c0-3 c16-19  c4-7 c20-23  c8-11 c24-27  c12-15 c28-31
///
///     c0-3:           c0 t0   c0 t1   c0 t2   c0 t3   c1 t0   ...   c3 t3
template <typename Weight>
struct depthwise_layout {
    std::vector<std::size_t> taps; // which tap each multiplies
    aligned_vector<Weight> weights;
};
inline constexpr std::int64_t min_quad_channels = 32; // channels
depthwise_layout<std::int16_t> depthwise_pairs(const integer_convolution &p, const constant_weights &w);
/// Weights less their zero points that 8 bits do not hold are split: their taps come again with the rest. Precondition:
/// there are min_quad_channels channels.
depthwise_layout<std::int8_t> depthwise_quads(const integer_convolution &p, const constant_weights &w);

/// Whether each channel is a group with a filter of its own, and there are several.
bool is_depthwise(const integer_convolution &p);

using depthwise_function = void (*)(const depthwise_span &s);
extern const targets::candidate<const depthwise_function *> pairs_table[], quads_table[];

/// The function of quads, or null where pairs are taken: x is s8, there is no VNNI, or channels fill no vector.
depthwise_function quads_function(const integer_convolution &p);

/// Null unless each channel is a group with one filter.
convolution_factory pack_depthwise_convolution(const integer_convolution &p, const constant_weights &w);

/// Packs for the given function of quads, or for pairs if it is null.
convolution_factory pack_depthwise_convolution(
        const integer_convolution &p, depthwise_function quads, const constant_weights &w);

} // namespace dynquant::layers
