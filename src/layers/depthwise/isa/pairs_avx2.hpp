// Two taps at once: the bytes of both are interleaved and widened to 16 bits, and VPMADDWD adds their products, which
// 32 bits hold exactly.
#pragma once

#include <cstring>

#include "layers/depthwise/depthwise.hpp"
#include "targets/avx2.hpp"

namespace dynquant::layers {
namespace {

using V = simd::avx2;

constexpr std::int64_t vector_channels = 16;

/// Adds the products of two taps by 16 channels.
template <bool x_is_signed>
void add_pair(const std::byte *a, const std::byte *b, const std::int16_t *weights, V::integers *sums) {
    V::integers low, high;
    V::interleave_to_words<x_is_signed>(V::load_16_bytes(a), V::load_16_bytes(b), low, high);
    sums[0] = V::dot_pairs(sums[0], low, V::load_bits(weights));
    sums[1] = V::dot_pairs(sums[1], high, V::load_bits(weights + 16));
}

/// `vectors` vectors of channels from `first` on, for all positions.
template <bool x_is_signed, int vectors>
void depthwise_channels(const depthwise_span &s, std::int64_t first) {
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::int16_t *>(s.weights) + 2 * first;
        V::integers sums[2 * vectors] = {};
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.padded_channels)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                add_pair<x_is_signed>(s.taps[t] + offset + v * vector_channels,
                        s.taps[t + 1] + offset + v * vector_channels, weights + v * 2 * vector_channels, sums + 2 * v);
        auto *y = s.y + p * s.channels + first;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * vectors; ++v)
            V::store(y + v * V::lanes, sums[v]);
    }
}

/// The channels from `first` on, fewer than a vector has.
template <bool x_is_signed>
void depthwise_remainder(const depthwise_span &s, std::int64_t first) {
    const auto count = static_cast<std::size_t>(s.channels - first);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::int16_t *>(s.weights) + 2 * first;
        V::integers sums[2] = {};
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.padded_channels) {
            std::byte taps[2][vector_channels] = {}; // zeros in place of channels that may lie beyond x
            for (int i = 0; i < 2; ++i)
                std::memcpy(taps[i], s.taps[t + i] + offset, count);
            add_pair<x_is_signed>(taps[0], taps[1], weights, sums);
        }
        std::memcpy(s.y + p * s.channels + first, sums, count * sizeof *s.y);
    }
}

template <bool x_is_signed>
void depthwise_all(const depthwise_span &s) {
    std::int64_t c = 0;
    for (; c + 2 * vector_channels <= s.channels; c += 2 * vector_channels)
        depthwise_channels<x_is_signed, 2>(s, c);
    for (; c + vector_channels <= s.channels; c += vector_channels)
        depthwise_channels<x_is_signed, 1>(s, c);
    if (c < s.channels) depthwise_remainder<x_is_signed>(s, c);
}

inline void depthwise_by_pairs(const depthwise_span &s) {
    s.x_is_signed ? depthwise_all<true>(s) : depthwise_all<false>(s);
}

} // namespace
} // namespace dynquant::layers
