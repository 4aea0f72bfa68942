// Sums of bytes in the vectors that every x86-64 has; PSADBW adds eight at once.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "targets/sixteen_bytes.hpp"

namespace dynquant::simd {
namespace {

/// Of u8, or of s8 whose sign bits `flip` inverts, which makes each 128 more.
inline std::int64_t sum_of_bytes(const std::byte *x, std::int64_t count, std::uint8_t flip) {
    std::int64_t total = 0, k = 0;
#if defined(__SSE2__)
    auto sums = _mm_setzero_si128();
    for (; k < count; k += 16) {
        const auto bytes = reinterpret_cast<__m128i>(load_bytes(x + k, count - k));
        const auto flipped = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(flip)));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(flipped, _mm_setzero_si128()));
    }
    total = _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums)));
    total -= (k - count) * flip; // of zeros behind the last byte
#endif
    for (; k < count; ++k)
        total += std::to_integer<std::uint8_t>(x[k]) ^ flip;
    return total;
}

/// Adds the sums of four rows, `stride` bytes apart, to `sums`, modulo 2^32. One reduction and one store serve the
/// four.
inline void add_four_sums_of_bytes(
        const std::byte *x, std::int64_t stride, std::int64_t count, std::uint8_t flip, std::uint32_t *sums) {
#if defined(__SSE2__)
    const auto flips = _mm_set1_epi8(static_cast<char>(flip)), zero = _mm_setzero_si128();
    __m128i halves[4] = {zero, zero, zero, zero}; // of each row, 64 bits
    std::int64_t k = 0;
    for (; k < count; k += 16)
        for (int row = 0; row < 4; ++row) {
            const auto bytes = reinterpret_cast<__m128i>(load_bytes(x + row * stride + k, count - k));
            halves[row] = _mm_add_epi64(halves[row], _mm_sad_epu8(_mm_xor_si128(bytes, flips), zero));
        }
    const auto low_words = [](__m128i a, __m128i b) { // of each half, which sums modulo 2^32 are made of
        return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0x88));
    };
    const auto two = low_words(halves[0], halves[1]), others = low_words(halves[2], halves[3]);
    const auto odd = _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(two), _mm_castsi128_ps(others), 0xdd));
    auto total = _mm_add_epi32(low_words(two, others), odd);
    total = _mm_sub_epi32(total, _mm_set1_epi32(static_cast<std::int32_t>((k - count) * flip))); // of zeros behind x
    auto *const to = reinterpret_cast<__m128i_u *>(sums);
    _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), total));
#else
    for (int row = 0; row < 4; ++row)
        sums[row] += static_cast<std::uint32_t>(sum_of_bytes(x + row * stride, count, flip));
#endif
}

} // namespace
} // namespace dynquant::simd
