// Two taps at once: the bytes of both are interleaved and widened to 16 bits, and V::dot_pairs() adds their products,
// which 32 bits hold exactly.
#pragma once

#include <algorithm>
#include <cstring>

#include "layers/conv/depthwise/depthwise.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

/// Adds the products of two taps by the channels of one or two vectors of sums.
template <typename V, bool x_is_signed, int vectors>
void add_pair(const std::byte *a, const std::byte *b, const std::int16_t *weights, typename V::integers *sums) {
    typename V::integers words[vectors];
    V::template interleave_to_words<x_is_signed>(a, b, words);
    for (int v = 0; v < vectors; ++v)
        sums[v] = V::dot_pairs(sums[v], words[v], V::load_bits(weights + 2 * V::lanes * v));
}

/// What the sums of channels from `first` on start with.
template <typename V, int vectors>
void start_sums(const depthwise_span &s, std::int64_t first, typename V::integers *sums) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
        sums[v] = s.start ? V::load(s.start + first + v * V::lanes) : V::splat(0);
}

/// The channels of `vectors` vectors of sums from `first` on, for all positions. A copy of the span stays in registers,
/// whatever the sums' memory is.
template <typename V, bool x_is_signed, int vectors>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void depthwise_channels(const depthwise_span s, std::int64_t first) {
    constexpr int at_once = vectors == 1 ? 1 : 2; // of a load
    typename V::integers start[vectors];
    start_sums<V, vectors>(s, first, start);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::int16_t *>(s.weights) + 2 * first;
        typename V::integers sums[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            sums[v] = start[v];
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.lanes)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v += at_once)
                add_pair<V, x_is_signed, at_once>(s.taps[t] + offset + v * V::lanes,
                        s.taps[t + 1] + offset + v * V::lanes, weights + v * 2 * V::lanes, sums + v);
        auto *y = s.y + p * s.channels + first;
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            V::store(y + v * V::lanes, sums[v]);
    }
}

/// Fewer channels than a vector has.
template <typename V, bool x_is_signed>
void depthwise_few(const depthwise_span &s) {
    const auto count = static_cast<std::size_t>(s.channels);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto *weights = static_cast<const std::int16_t *>(s.weights);
        typename V::integers sums[1];
        start_sums<V, 1>(s, 0, sums);
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.lanes) {
            std::byte taps[2][V::lanes] = {}; // zeros in place of channels that may lie beyond x
            for (int i = 0; i < 2; ++i)
                std::memcpy(taps[i], s.taps[t + i] + p * s.x_step, count);
            add_pair<V, x_is_signed, 1>(taps[0], taps[1], weights, sums);
        }
        std::memcpy(s.y + p * s.channels, sums, count * sizeof *s.y);
    }
}

template <typename V, bool x_is_signed>
void depthwise_all(const depthwise_span &s) {
    if (s.channels < V::lanes) return depthwise_few<V, x_is_signed>(s);
    std::int64_t c = 0;
    for (; c + 4 * V::lanes <= s.channels; c += 4 * V::lanes)
        depthwise_channels<V, x_is_signed, 4>(s, c);
    for (; c + 2 * V::lanes <= s.channels; c += 2 * V::lanes)
        depthwise_channels<V, x_is_signed, 2>(s, c);
    for (; c < s.channels; c += V::lanes) // the last channels, some of them again
        depthwise_channels<V, x_is_signed, 1>(s, std::min(c, s.channels - V::lanes));
}

template <typename V>
void depthwise_by_pairs(const depthwise_span &s) {
    s.x_is_signed ? depthwise_all<V, true>(s) : depthwise_all<V, false>(s);
}

/// AVX-512 has the same loop in the vectors of AVX2, with more registers.
template <typename V>
constexpr depthwise_function pairs_of = depthwise_by_pairs<typename V::of_32_bytes>;

} // namespace
} // namespace dynquant::layers
