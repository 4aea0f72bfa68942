// Bytes in vectors of AVX2: elements of 4 and 6 bits, and tables of 16 bytes.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "targets/bytes.hpp"

namespace dynquant::simd {
namespace {

struct avx2_bytes : byte_layouts {
    static constexpr std::int64_t nibbles = 32;
    static void unpack_nibbles(const void *from, std::int8_t *to, bool is_signed) {
        const __m256i words = _mm256_cvtepu8_epi16(_mm_loadu_si128(as_vector(from))), low = _mm256_set1_epi8(0xf);
        const __m256i values = _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16(words, 4)), low);
        const __m256i sign = _mm256_set1_epi8(is_signed ? 8 : 0); // extends: (x ^ 8) - 8
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm256_sub_epi8(_mm256_xor_si256(values, sign), sign));
    }
    static void pack_nibbles(const std::int8_t *from, void *to, std::int8_t lowest, std::int8_t highest) {
        const __m256i given = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
        const __m256i bounded =
                _mm256_max_epi8(_mm256_min_epi8(given, _mm256_set1_epi8(highest)), _mm256_set1_epi8(lowest));
        const __m256i low = _mm256_and_si256(bounded, _mm256_set1_epi16(0xf));
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bounded, 4), _mm256_set1_epi16(0xf0));
        _mm_storeu_si128(static_cast<__m128i *>(to), joined_words(_mm256_or_si256(low, high)));
    }

    static constexpr std::int64_t sixes = 32;
    /// Elements of 6 bits, from 24 bytes. Each word gets the two bytes that its two elements lie in: from bit 0 in even
    /// words, from bit 4 in odd ones.
    static void unpack_sixes(const unsigned char *from, std::int8_t *to) {
        const __m256i halves = _mm256_set_m128i(_mm_loadu_si128(as_vector(from + 8)), _mm_loadu_si128(as_vector(from)));
        const __m256i places = _mm256_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 4, 5, 5, 6, 7, 8, 8,
                9, 10, 11, 11, 12, 13, 14, 14, 15);
        const __m256i words = _mm256_shuffle_epi8(halves, places);
        const __m256i pairs = _mm256_blend_epi16(words, _mm256_srli_epi16(words, 4), 0xaa);
        const __m256i low = _mm256_and_si256(pairs, _mm256_set1_epi16(0x3f));
        const __m256i high = _mm256_and_si256(_mm256_slli_epi16(pairs, 2), _mm256_set1_epi16(0x3f00));
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm256_or_si256(low, high));
    }
    /// Joins pairs of elements to 12 bits, and pairs of these to 24.
    static void pack_sixes(const std::int8_t *from, unsigned char *to) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
        const __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x4001));
        const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x10000001));
        const __m256i places =
                _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
        const __m256i packed = _mm256_permutevar8x32_epi32(
                _mm256_shuffle_epi8(fours, places), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm256_castsi256_si128(packed));
        _mm_storel_epi64(reinterpret_cast<__m128i *>(to + 16), _mm256_extracti128_si256(packed, 1));
    }

    // Tables of 16 bytes.
    static __m256i load_bits(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
    static __m256i splat_bytes(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
    /// p[0] to p[15] in each 128-bit lane.
    static __m256i splat_16_bytes(const void *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128(as_vector(p))); }
    /// table[x % 16] within each 128-bit lane; 0 where x is negative as a signed byte.
    static __m256i look_up_16(__m256i table, __m256i x) { return _mm256_shuffle_epi8(table, x); }
    static __m256i bit_xor(__m256i a, __m256i b) { return _mm256_xor_si256(a, b); }
    /// Of signed bytes, saturating.
    static __m256i subtract_bytes(__m256i a, __m256i b) { return _mm256_subs_epi8(a, b); }

  protected:
    static const __m128i *as_vector(const void *p) { return static_cast<const __m128i *>(p); }

  private:
    /// Narrows sixteen words, all below 256, to bytes.
    static __m128i joined_words(__m256i words) {
        return _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    }
};

} // namespace
} // namespace dynquant::simd
