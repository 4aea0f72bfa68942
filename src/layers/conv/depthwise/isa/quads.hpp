// Four taps at once: their bytes are interleaved, and V::dot() adds the four products of each channel to its sum. Over
// vectors V, see targets/simd.hpp.
#pragma once

#include <algorithm>

#include "layers/conv/depthwise/depthwise.hpp"
#include "targets/as_read.hpp"

namespace dynquant::layers {
namespace {

/// Computes all positions of as many channels, from `first` on, as `groups` vectors have bytes; `lane` is their first
/// lane. A copy of the span stays in registers, whatever the sums' memory is.
template <typename V, int groups>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void depthwise_channels(const depthwise_span s, std::int64_t lane, std::int64_t first) {
    constexpr std::int64_t bytes = 4 * V::lanes;
    const auto lane_of = [=](int g, int j) { return lane + (j * groups + g) * V::lanes; };
    typename V::integers start[groups][4];
#pragma GCC unroll 4
    for (int g = 0; g < groups; ++g)
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            start[g][j] = s.start ? V::load(s.start + lane_of(g, j)) : V::splat(0);
    if constexpr (V::dot_is_signed) { // reads u8 as s8, 128 less
        const auto *weights = static_cast<const std::byte *>(s.weights);
        for (std::int64_t t = 0; t < s.tap_count; t += 4, weights += 4 * s.lanes)
            for (int g = 0; g < groups; ++g)
                for (int j = 0; j < 4; ++j) {
                    const auto w = V::load_bits(weights + 4 * lane_of(g, j));
                    start[g][j] = V::subtract(start[g][j], V::dot(V::splat(0), V::splat_bytes(-128), w));
                }
    }
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::byte *>(s.weights);
        typename V::integers sums[groups][4];
#pragma GCC unroll 4
        for (int g = 0; g < groups; ++g)
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j)
                sums[g][j] = start[g][j];
        for (std::int64_t t = 0; t < s.tap_count; t += 4, weights += 4 * s.lanes)
#pragma GCC unroll 4
            for (int g = 0; g < groups; ++g) {
                typename V::integers x[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i)
                    x[i] = simd::as_read<V>(V::load_bits(s.taps[t + i] + offset + g * bytes));
                V::interleave_bytes(x);
#pragma GCC unroll 4
                for (int j = 0; j < 4; ++j)
                    sums[g][j] = V::dot(sums[g][j], x[j], V::load_bits(weights + 4 * lane_of(g, j)));
            }
        auto *y = s.y + p * s.channels + first;
#pragma GCC unroll 4
        for (int g = 0; g < groups; ++g)
            V::store_interleaved(y + g * bytes, sums[g]);
    }
}

/// 64 channels at once by vectors of 64 bytes, or by two of 32 or four of 16 bytes.
template <typename Wide, typename V = typename Wide::of_32_bytes>
void depthwise_by_quads(const depthwise_span &s) {
    static_assert(!Wide::dot_saturates && !V::dot_saturates); // of_32_bytes, inherited, would be a weaker set
    std::int64_t c = 0;
    for (; c + 64 <= s.channels; c += 64)
        depthwise_channels<Wide, 16 / Wide::lanes>(s, c, c);
    for (; c < s.channels; c += 32) // the last channels, some of them again
        depthwise_channels<V, 8 / V::lanes>(s, c, std::min(c, s.channels - 32));
}

template <typename V>
constexpr depthwise_function quads_of = depthwise_by_quads<V>;

} // namespace
} // namespace dynquant::layers
