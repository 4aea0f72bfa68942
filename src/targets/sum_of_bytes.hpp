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

} // namespace
} // namespace dynquant::simd
