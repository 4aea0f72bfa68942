// VPDPBUSD by instructions of AVX2, and of AVX-512 BW where that is compiled for: the words of even bytes, then those
// of odd ones. In an anonymous namespace: files that include it are compiled for different instruction sets.
#pragma once

#include <immintrin.h>

namespace {

[[gnu::unused]] __m256i dot_of_bytes(__m256i sums, __m256i a, __m256i b) {
    const auto even = _mm256_madd_epi16(
            _mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
    const auto odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
    return _mm256_add_epi32(sums, _mm256_add_epi32(even, odd));
}

#if defined(__AVX512BW__)
[[gnu::unused]] __m512i dot_of_bytes(__m512i sums, __m512i a, __m512i b) {
    const auto even = _mm512_madd_epi16(
            _mm512_and_si512(a, _mm512_set1_epi16(0xff)), _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8));
    const auto odd = _mm512_madd_epi16(_mm512_srli_epi16(a, 8), _mm512_srai_epi16(b, 8));
    return _mm512_add_epi32(sums, _mm512_add_epi32(even, odd));
}
#endif

} // namespace
