// Sums of bytes in the vectors that every x86-64 has; PSADBW adds eight at once.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dynquant::simd {
namespace {

/// Of u8, or of s8 whose sign bits `flip` inverts, which makes each 128 more.
inline std::int64_t sum_of_bytes(const std::byte *x, std::int64_t count, std::uint8_t flip) {
    std::int64_t total = 0, k = 0;
#if defined(__SSE2__)
    auto sums = _mm_setzero_si128();
    for (; k + 16 <= count; k += 16) {
        const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(x + k));
        const auto flipped = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(flip)));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(flipped, _mm_setzero_si128()));
    }
    if (k + 8 <= count) {
        const auto bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(x + k));
        const auto flips = _mm_move_epi64(_mm_set1_epi8(static_cast<char>(flip))); // zeros in the upper half
        sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_xor_si128(bytes, flips), _mm_setzero_si128()));
        k += 8;
    }
    total = _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums)));
#endif
    for (; k < count; ++k)
        total += std::to_integer<std::uint8_t>(x[k]) ^ flip;
    return total;
}

} // namespace
} // namespace dynquant::simd
