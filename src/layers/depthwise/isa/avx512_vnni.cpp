// Four taps at once: their bytes are interleaved, and VPDPBUSD adds the four products of each channel to its sum.
#include <immintrin.h>

#include "layers/depthwise/depthwise.hpp"

namespace dynquant::layers {
namespace {

/// Interleaves the bytes of four taps: vector j has channels 4 j to 4 j + 3 of each 16.
inline void interleave(__m128i (&x)[4]) {
    const auto ab_low = _mm_unpacklo_epi8(x[0], x[1]), ab_high = _mm_unpackhi_epi8(x[0], x[1]);
    const auto cd_low = _mm_unpacklo_epi8(x[2], x[3]), cd_high = _mm_unpackhi_epi8(x[2], x[3]);
    x[0] = _mm_unpacklo_epi16(ab_low, cd_low);
    x[1] = _mm_unpackhi_epi16(ab_low, cd_low);
    x[2] = _mm_unpacklo_epi16(ab_high, cd_high);
    x[3] = _mm_unpackhi_epi16(ab_high, cd_high);
}

inline void interleave(__m512i (&x)[4]) {
    const auto ab_low = _mm512_unpacklo_epi8(x[0], x[1]), ab_high = _mm512_unpackhi_epi8(x[0], x[1]);
    const auto cd_low = _mm512_unpacklo_epi8(x[2], x[3]), cd_high = _mm512_unpackhi_epi8(x[2], x[3]);
    x[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    x[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    x[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    x[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
}

/// 64 channels. Quarter q of vector j has channels 16 q + 4 j to 16 q + 4 j + 3, in weights and sums too.
void store(std::int32_t *y, const __m512i (&sums)[4]) {
    const auto a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44), b = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
    const auto c = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44), d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
    _mm512_storeu_si512(y, _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_storeu_si512(y + 16, _mm512_shuffle_i32x4(a, c, 0xdd));
    _mm512_storeu_si512(y + 32, _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_storeu_si512(y + 48, _mm512_shuffle_i32x4(b, d, 0xdd));
}

void depthwise_64_channels(const depthwise_span &s, std::int64_t first, const std::byte *weights) {
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *w = weights;
        __m512i sums[4] = {};
        for (std::int64_t t = 0; t < s.tap_count; t += 4, w += 256) {
            __m512i x[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                x[i] = _mm512_loadu_si512(s.taps[t + i] + offset);
            interleave(x);
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j)
                sums[j] = _mm512_dpbusd_epi32(sums[j], x[j], _mm512_loadu_si512(w + 64 * j));
        }
        store(s.y + p * s.channels + first, sums);
    }
}

/// At most 16 channels.
void depthwise_some_channels(
        const depthwise_span &s, std::int64_t first, std::int64_t count, const std::byte *weights) {
    const auto bytes = static_cast<__mmask16>((1U << count) - 1);
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *w = weights;
        __m128i sums[4] = {};
        for (std::int64_t t = 0; t < s.tap_count; t += 4, w += 64) {
            __m128i x[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                x[i] = _mm_maskz_loadu_epi8(bytes, s.taps[t + i] + offset);
            interleave(x);
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j)
                sums[j] = _mm_dpbusd_epi32(sums[j], x[j], _mm_loadu_si128(reinterpret_cast<const __m128i *>(w) + j));
        }
        auto *y = s.y + p * s.channels + first;
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            _mm_mask_storeu_epi32(y + 4 * j, static_cast<__mmask8>(bytes >> 4 * j & 15), sums[j]);
    }
}

void depthwise(const depthwise_span &s) {
    const auto *weights = static_cast<const std::byte *>(s.weights);
    std::int64_t c = 0;
    for (; c + 64 <= s.channels; c += 64)
        depthwise_64_channels(s, c, weights + c * s.tap_count);
    for (; c < s.channels; c += 16)
        depthwise_some_channels(s, c, s.channels - c < 16 ? s.channels - c : 16, weights + c * s.tap_count);
}

} // namespace

constinit const depthwise_function avx512_vnni_depthwise = depthwise;

} // namespace dynquant::layers
