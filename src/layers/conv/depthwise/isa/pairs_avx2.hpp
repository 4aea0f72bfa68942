// Two taps at once: the bytes of both are interleaved and widened to 16 bits, and VPMADDWD adds their products, which
// 32 bits hold exactly.
#pragma once

#include <algorithm>
#include <cstring>

#include "layers/conv/depthwise/depthwise.hpp"
#include "targets/avx2.hpp"

namespace dynquant::layers {
namespace {

using V = simd::avx2;

/// Adds the products of two taps by 8 or 16 channels, whose sums take as many vectors.
template <bool x_is_signed, int vectors>
void add_pair(const std::byte *a, const std::byte *b, const std::int16_t *weights, V::integers *sums) {
    V::integers words[vectors];
    V::interleave_to_words<x_is_signed>(a, b, words);
    for (int v = 0; v < vectors; ++v)
        sums[v] = V::dot_pairs(sums[v], words[v], V::load_bits(weights + 16 * v));
}

/// What the sums of channels from `first` on start with.
template <int vectors>
void start_sums(const depthwise_span &s, std::int64_t first, V::integers *sums) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
        sums[v] = s.start ? V::load(s.start + first + v * V::lanes) : V::splat(0);
}

/// The channels of `vectors` vectors of sums from `first` on, for all positions. A copy of the span stays in registers,
/// whatever the sums' memory is.
template <bool x_is_signed, int vectors>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void depthwise_channels(const depthwise_span s, std::int64_t first) {
    constexpr int at_once = vectors == 1 ? 1 : 2; // of a load
    V::integers start[vectors];
    start_sums<vectors>(s, first, start);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::int16_t *>(s.weights) + 2 * first;
        V::integers sums[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            sums[v] = start[v];
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.lanes)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v += at_once)
                add_pair<x_is_signed, at_once>(s.taps[t] + offset + v * V::lanes, s.taps[t + 1] + offset + v * V::lanes,
                        weights + v * 2 * V::lanes, sums + v);
        auto *y = s.y + p * s.channels + first;
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            V::store(y + v * V::lanes, sums[v]);
    }
}

/// Fewer channels than a vector has.
template <bool x_is_signed>
void depthwise_few(const depthwise_span &s) {
    const auto count = static_cast<std::size_t>(s.channels);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto *weights = static_cast<const std::int16_t *>(s.weights);
        V::integers sums[1];
        start_sums<1>(s, 0, sums);
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.lanes) {
            std::byte taps[2][V::lanes] = {}; // zeros in place of channels that may lie beyond x
            for (int i = 0; i < 2; ++i)
                std::memcpy(taps[i], s.taps[t + i] + p * s.x_step, count);
            add_pair<x_is_signed, 1>(taps[0], taps[1], weights, sums);
        }
        std::memcpy(s.y + p * s.channels, sums, count * sizeof *s.y);
    }
}

template <bool x_is_signed>
void depthwise_all(const depthwise_span &s) {
    if (s.channels < V::lanes) return depthwise_few<x_is_signed>(s);
    std::int64_t c = 0;
    for (; c + 4 * V::lanes <= s.channels; c += 4 * V::lanes)
        depthwise_channels<x_is_signed, 4>(s, c);
    for (; c + 2 * V::lanes <= s.channels; c += 2 * V::lanes)
        depthwise_channels<x_is_signed, 2>(s, c);
    for (; c < s.channels; c += V::lanes) // the last channels, some of them again
        depthwise_channels<x_is_signed, 1>(s, std::min(c, s.channels - V::lanes));
}

inline void depthwise_by_pairs(const depthwise_span &s) {
    s.x_is_signed ? depthwise_all<true>(s) : depthwise_all<false>(s);
}

/// AVX-512 has the same loop in the vectors of AVX2, with more registers.
template <typename>
constexpr depthwise_function pairs_of = depthwise_by_pairs;

} // namespace
} // namespace dynquant::layers
