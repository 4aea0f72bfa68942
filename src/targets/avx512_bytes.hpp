// Bytes in vectors of AVX-512: elements of 4 and 6 bits, and tables of 16 bytes.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "targets/bytes.hpp"

namespace dynquant::simd {
namespace {

struct avx512_bytes : byte_layouts {
    static constexpr std::int64_t nibbles = 64;
    static void unpack_nibbles(const void *from, std::int8_t *to, bool is_signed) {
        const __m512i words = _mm512_cvtepu8_epi16(load_halves(from)), low = _mm512_set1_epi8(0xf);
        const __m512i values = _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), low);
        const __m512i sign = _mm512_set1_epi8(is_signed ? 8 : 0); // extends: (x ^ 8) - 8
        _mm512_storeu_si512(to, _mm512_sub_epi8(_mm512_xor_si512(values, sign), sign));
    }
    static void pack_nibbles(const std::int8_t *from, void *to, std::int8_t lowest, std::int8_t highest) {
        const __m512i bounded = _mm512_max_epi8(
                _mm512_min_epi8(_mm512_loadu_si512(from), _mm512_set1_epi8(highest)), _mm512_set1_epi8(lowest));
        const __m512i low = _mm512_and_si512(bounded, _mm512_set1_epi16(0xf));
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(bounded, 4), _mm512_set1_epi16(0xf0));
        _mm256_storeu_si256(static_cast<__m256i *>(to), _mm512_cvtepi16_epi8(_mm512_or_si512(low, high)));
    }

    static constexpr std::int64_t sixes = 64;
    /// Elements of 6 bits, from 48 bytes. Each word gets the two bytes that its two elements lie in: from bit 0 in even
    /// words, from bit 4 in odd ones.
    static void unpack_sixes(const unsigned char *from, std::int8_t *to) {
        const __m512i quarters =
                _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11),
                        _mm512_maskz_loadu_epi32(0xfff, from));
        const __m512i places = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11));
        const __m512i pairs = _mm512_srlv_epi16(_mm512_shuffle_epi8(quarters, places), _mm512_set1_epi32(4 << 16));
        const __m512i low = _mm512_and_si512(pairs, _mm512_set1_epi16(0x3f));
        const __m512i high = _mm512_and_si512(_mm512_slli_epi16(pairs, 2), _mm512_set1_epi16(0x3f00));
        _mm512_storeu_si512(to, _mm512_or_si512(low, high));
    }
    /// Joins pairs of elements to 12 bits, and pairs of these to 24.
    static void pack_sixes(const std::int8_t *from, unsigned char *to) {
        const __m512i pairs = _mm512_maddubs_epi16(_mm512_loadu_si512(from), _mm512_set1_epi16(0x4001));
        const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x10000001));
        const __m512i places =
                _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
        const __m512i packed =
                _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15),
                        _mm512_shuffle_epi8(fours, places));
        _mm512_mask_storeu_epi32(to, 0xfff, packed);
    }

    // Tables of 16 bytes.
    static __m512i load_bits(const void *p) { return _mm512_loadu_si512(p); }
    static __m512i splat_bytes(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }
    /// p[0] to p[15] in each 128-bit lane.
    static __m512i splat_16_bytes(const void *p) { return _mm512_broadcast_i32x4(load_bytes(p)); }
    /// table[x % 16] within each 128-bit lane; 0 where x is negative as a signed byte.
    static __m512i look_up_16(__m512i table, __m512i x) { return _mm512_shuffle_epi8(table, x); }
    static __m512i bit_xor(__m512i a, __m512i b) { return _mm512_xor_si512(a, b); }
    /// Of signed bytes, saturating.
    static __m512i subtract_bytes(__m512i a, __m512i b) { return _mm512_subs_epi8(a, b); }

  protected:
    static __m256i load_halves(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
    static __m128i load_bytes(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
};

} // namespace
} // namespace dynquant::simd
