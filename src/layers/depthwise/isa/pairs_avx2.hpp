// Two taps at once: the bytes of both are interleaved and widened to 16 bits, and VPMADDWD adds their products, which
// 32 bits hold exactly.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "layers/depthwise/depthwise.hpp"

namespace dynquant::layers {
namespace {

constexpr std::int64_t vector_channels = 16;

inline __m128i load_channels(const std::byte *x) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(x));
}

/// The first `count` channels; zeros in place of others, which may lie beyond x.
inline __m128i load_channels(const std::byte *x, std::size_t count) {
    alignas(16) std::byte bytes[16] = {};
    std::memcpy(bytes, x, count);
    return load_channels(bytes);
}

template <bool x_is_signed>
__m256i widen(__m128i bytes) {
    return x_is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/// Adds the products of two taps by 16 channels.
template <bool x_is_signed>
void add_pair(__m128i a, __m128i b, const std::int16_t *weights, __m256i *sums) {
    const auto *w = reinterpret_cast<const __m256i *>(weights);
    const auto low = widen<x_is_signed>(_mm_unpacklo_epi8(a, b)), high = widen<x_is_signed>(_mm_unpackhi_epi8(a, b));
    sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(low, _mm256_loadu_si256(w)));
    sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(high, _mm256_loadu_si256(w + 1)));
}

/// `vectors` vectors of channels from `first` on, for all positions.
template <bool x_is_signed, int vectors>
void depthwise_channels(const depthwise_span &s, std::int64_t first) {
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::int16_t *>(s.weights) + 2 * first;
        __m256i sums[2 * vectors];
        for (auto &sum : sums)
            sum = _mm256_setzero_si256();
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.padded_channels)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                add_pair<x_is_signed>(load_channels(s.taps[t] + offset + v * vector_channels),
                        load_channels(s.taps[t + 1] + offset + v * vector_channels), weights + v * 2 * vector_channels,
                        sums + 2 * v);
        auto *y = s.y + p * s.channels + first;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * vectors; ++v)
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(y) + v, sums[v]);
    }
}

/// The channels from `first` on, fewer than a vector has.
template <bool x_is_signed>
void depthwise_remainder(const depthwise_span &s, std::int64_t first) {
    const auto count = static_cast<std::size_t>(s.channels - first);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *weights = static_cast<const std::int16_t *>(s.weights) + 2 * first;
        __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (std::int64_t t = 0; t < s.tap_count; t += 2, weights += 2 * s.padded_channels)
            add_pair<x_is_signed>(load_channels(s.taps[t] + offset, count),
                    load_channels(s.taps[t + 1] + offset, count), weights, sums);
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
