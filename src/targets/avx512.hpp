// Vectors of AVX-512 F, BW, DQ and VL: sixteen lanes, and masks for partial vectors.
#pragma once

#include <cstdint>
#include <immintrin.h>
#include <type_traits>

#include "targets/avx2.hpp"
#include "targets/avx512_bytes.hpp"
#include "targets/operators.hpp"
#include "targets/simd.hpp"

namespace dynquant::simd {
namespace {

struct avx512 : vector_operators<64>, avx512_bytes {
    using of_32_bytes = avx2;
    using reals = __m512;
    using integers = __m512i;
    using mask = __mmask16;
    static constexpr const char *name = "avx512";
    static constexpr std::int64_t lanes = 16;
    static constexpr bool has_fma = true;
    static constexpr int registers = 32;

    static reals splat(float value) { return _mm512_set1_ps(value); }
    static integers splat(std::int32_t value) { return _mm512_set1_epi32(value); }
    static doubles splat(double value) { return {_mm512_set1_pd(value), _mm512_set1_pd(value)}; }

    template <typename T>
    static auto load(const T *p) {
        if constexpr (sizeof(T) == 1) return widened(p, load_bytes(p));
        if constexpr (sizeof(T) == 2) return widened(p, load_halves(p));
        if constexpr (sizeof(T) == 4) return widened(p, load_bits(p));
    }
    static void load_pairs(const bfloat16_bits *p, reals &even, reals &odd) {
        const __m512i pairs = _mm512_loadu_si512(p);
        even = as_reals(_mm512_slli_epi32(pairs, 16));
        odd = as_reals(_mm512_and_si512(pairs, splat(~0xffff)));
    }

    /// Bytes as the upper bytes of f16.
    static reals load_as_upper_byte(const std::uint8_t *p) {
        return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(load_bytes(p)), 8));
    }
    /// Bytes as f16 with a 0 in the exponent's highest bit: the sign, that 0, and the byte's other seven bits.
    static reals load_as_small_float16(const std::uint8_t *p) {
        const __m256i apart = _mm256_slli_epi16(_mm256_cvtepi8_epi16(load_bytes(p)), 7);
        return _mm512_cvtph_ps(_mm256_and_si256(apart, _mm256_set1_epi16(static_cast<std::int16_t>(0xbfff))));
    }

    static mask first_lanes(std::int64_t count) {
        const auto clipped = count < 0 ? 0 : count < lanes ? count : lanes;
        return _cvtu32_mask16(_bzhi_u32(0xffffU, static_cast<unsigned>(clipped)));
    }
    template <typename T>
    static auto load(const T *p, mask m) {
        if constexpr (sizeof(T) == 1) return widened(p, _mm_maskz_loadu_epi8(m, p));
        if constexpr (sizeof(T) == 2) return widened(p, _mm256_maskz_loadu_epi16(m, p));
        if constexpr (sizeof(T) == 4) return widened(p, _mm512_maskz_loadu_epi32(m, p));
    }
    template <typename T>
    static auto load_partial(const T *p, std::int64_t count) {
        return load(p, first_lanes(count));
    }

    /// Of the first eight.
    static reals pick(const float *p, integers index) {
        return _mm512_permutexvar_ps(index, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
    }
    static integers pick(const std::int32_t *p, integers index) {
        return _mm512_permutexvar_epi32(
                index, _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))));
    }

    /// Transposes 16 x 16 reals: pairs, fours, and twice the exchange of quarters.
    static void transpose_reals(reals (&x)[lanes]) {
        reals pairs[lanes], fours[lanes];
        unroll<8>([&](int i) __attribute__((always_inline)) {
            pairs[2 * i] = _mm512_unpacklo_ps(x[2 * i], x[2 * i + 1]);
            pairs[2 * i + 1] = _mm512_unpackhi_ps(x[2 * i], x[2 * i + 1]);
        });
        // fours[4 * g + c] has columns c, c + 4, c + 8, c + 12 of rows 4 g to 4 g + 3, a quarter each.
        unroll<8>([&](int i) __attribute__((always_inline)) {
            const int first = i / 2 * 4, j = i % 2;
            fours[first + 2 * j] = _mm512_shuffle_ps(pairs[first + j], pairs[first + j + 2], 0x44);
            fours[first + 2 * j + 1] = _mm512_shuffle_ps(pairs[first + j], pairs[first + j + 2], 0xee);
        });
        unroll<4>([&](int c) __attribute__((always_inline)) {
            const auto low = _mm512_shuffle_f32x4(fours[c], fours[c + 4], 0x88);
            const auto high = _mm512_shuffle_f32x4(fours[c + 8], fours[c + 12], 0x88);
            const auto low_odd = _mm512_shuffle_f32x4(fours[c], fours[c + 4], 0xdd);
            const auto high_odd = _mm512_shuffle_f32x4(fours[c + 8], fours[c + 12], 0xdd);
            x[c] = _mm512_shuffle_f32x4(low, high, 0x88);
            x[c + 8] = _mm512_shuffle_f32x4(low, high, 0xdd);
            x[c + 4] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
            x[c + 12] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
        });
    }

    static reals fma(reals a, reals b, reals c) { return _mm512_fmadd_ps(a, b, c); }
    static reals negated_fma(reals a, reals b, reals c) { return _mm512_fnmadd_ps(a, b, c); }
    // VMINPS and VMAXPS give the second operand when either is NaN.
    static reals min(reals bound, reals x) { return _mm512_min_ps(bound, x); }
    static reals max(reals bound, reals x) { return _mm512_max_ps(bound, x); }
    static reals abs(reals x) { return _mm512_andnot_ps(splat(-0.0F), x); }
    /// Rounds to f16 or bf16, NaN to a quiet one.
    static reals rounded(const float16_bits *, reals x) { return _mm512_cvtph_ps(to_float16(x)); }
    static reals rounded(const bfloat16_bits *, reals x) {
        return as_reals(_mm512_and_si512(rounded_to_upper_half(x), splat(~0xffff)));
    }
    static reals copy_sign(reals magnitude, reals x) { return _mm512_or_ps(magnitude, _mm512_and_ps(splat(-0.0F), x)); }

    static integers min(integers a, integers b) { return _mm512_min_epi32(a, b); }
    static integers select_less(integers a, integers b, integers then, integers otherwise) {
        return _mm512_mask_mov_epi32(otherwise, _mm512_cmplt_epi32_mask(a, b), then);
    }
    static reals select_less(reals a, reals b, reals then, reals otherwise) { // false for NaN
        return _mm512_mask_mov_ps(otherwise, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), then);
    }
    static reals to_reals(integers a) { return _mm512_cvtepi32_ps(a); }
    static integers to_integers(reals x) { return _mm512_cvtps_epi32(x); }
    static reals round(reals x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static doubles to_doubles(reals x) {
        return {_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
    }
    static doubles to_doubles(integers x) {
        return {_mm512_cvtepi32_pd(_mm512_castsi512_si256(x)), _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1))};
    }
    static reals to_reals(const doubles &x) { return joined(_mm512_cvtpd_ps(x.low), _mm512_cvtpd_ps(x.high)); }
    /// The lowest value also for NaN: VMAXPD gives the second operand when the first is NaN.
    static doubles limited(const doubles &x, double lowest, double highest) {
        const auto low = _mm512_set1_pd(lowest), high = _mm512_set1_pd(highest);
        return {_mm512_min_pd(_mm512_max_pd(x.low, low), high), _mm512_min_pd(_mm512_max_pd(x.high, low), high)};
    }
    /// The low 32 bits of each f64.
    static integers low_halves(const doubles &x) {
        const auto evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        return _mm512_permutex2var_epi32(_mm512_castpd_si512(x.low), evens, _mm512_castpd_si512(x.high));
    }
    /// Rounds to odd (numerics.hpp): towards 0, and sets the last bit of what is inexact.
    static reals rounded_to_odd(const doubles &x) {
        const auto half = [](__m512d value) {
            const __m256 truncated = _mm512_cvt_roundpd_ps(value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
            const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(truncated), value, _CMP_NEQ_OQ);
            const __m256i bits = _mm256_castps_si256(truncated);
            return _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1)));
        };
        return joined(half(x.low), half(x.high));
    }
    static reals subtract_exactly(integers a, integers b) { return to_reals(to_doubles(a) - to_doubles(b)); }

    static void store(float *p, reals a) { _mm512_storeu_ps(p, a); }
    static void store(void *p, integers a) { _mm512_storeu_si512(p, a); }
    static void store(float *p, mask m, reals a) { _mm512_mask_storeu_ps(p, m, a); }
    static void store_partial(float *p, std::int64_t count, reals a) { store(p, first_lanes(count), a); }
    static void store_partial(std::int32_t *p, std::int64_t count, integers a) {
        _mm512_mask_storeu_epi32(p, first_lanes(count), a);
    }
    /// The lowest byte of each lane.
    static void store_low_bytes(void *p, mask m, integers a) { _mm512_mask_cvtepi32_storeu_epi8(p, m, a); }

    static void store_bytes(void *p, std::int64_t count, integers a) {
        const auto bits = _bzhi_u64(~0ULL, static_cast<unsigned>(count < 64 ? count : 64));
        _mm512_mask_storeu_epi8(p, _cvtu64_mask64(bits), a);
    }
    static void stream(float *p, reals a) { _mm512_stream_ps(p, a); }
    static void stream(void *p, integers a) { _mm512_stream_si512(static_cast<__m512i *>(p), a); }
    static void fence() { _mm_sfence(); }
    /// Explicit, because compilers omit VZEROUPPER on some paths, and LDMXCSR then waits 80 ns.
    static void zero_upper() { _mm256_zeroupper(); }

    // Packing in steps, within each part of 128 bits; in_order() restores the order of columns. InPairs: load_pairs()
    // gave a and b, and c and d. Rounding gives the lowest value for NaN and infinities.
    static integers words(integers a, integers b) { return _mm512_packs_epi32(a, b); }
    static integers words(reals a, reals b) { return words(to_integers(a), to_integers(b)); }
    static integers add_saturated(integers a, integers b) { return _mm512_adds_epi16(a, b); } // of words
    template <typename Integer>
    static integers bytes(integers ab, integers cd) {
        return std::is_signed_v<Integer> ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
    }
    template <bool InPairs>
    static integers in_order(integers bytes) {
        if (!InPairs)
            return _mm512_permutexvar_epi32(
                    _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
        const __m128i places = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
        return in_fours(_mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(places)));
    }
    // These pack one vector, and store it.
    static __m256i words(integers a) { return _mm512_cvtsepi32_epi16(a); }
    static __m256i words(reals a) { return words(to_integers(a)); }
    static __m256i add_saturated(__m256i a, __m256i b) { return _mm256_adds_epi16(a, b); }
    template <typename Integer>
    static void store_packed(Integer *p, __m256i words) {
        const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p),
                std::is_signed_v<Integer> ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high));
    }
    static void store_packed(std::int8_t *p, reals a) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtsepi32_epi8(to_integers(a)));
    }
    static void store_packed(std::uint8_t *p, reals a) {
        const __m512i positive = _mm512_max_epi32(to_integers(a), _mm512_setzero_si512());
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtusepi32_epi8(positive));
    }
    // Vectors of bytes.
    static integers min_bytes(integers a, integers b) { return _mm512_min_epu8(a, b); }
    static integers shift_words_right(integers a, int by) { return _mm512_srl_epi16(a, _mm_cvtsi32_si128(by)); }
    /// 0 where a > b, as s8, does not hold.
    static integers select_greater_bytes(integers a, integers b, integers then) {
        return _mm512_maskz_mov_epi8(_mm512_cmpgt_epi8_mask(a, b), then);
    }
    /// To 16 bits.
    static integers pack(const float16_bits *, reals a, reals b) {
        return _mm512_inserti64x4(_mm512_castsi256_si512(to_float16(a)), to_float16(b), 1);
    }
    static integers pack(const bfloat16_bits *, reals a, reals b) { // the upper halves
        const __m512i odds = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
                27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
        return _mm512_permutex2var_epi16(rounded_to_upper_half(a), odds, rounded_to_upper_half(b));
    }
    template <typename Integer>
    static integers pack(const Integer *, reals a, reals b) {
        return in_fours(std::is_signed_v<Integer> ? words(a, b) : _mm512_packus_epi32(to_integers(a), to_integers(b)));
    }
    // Lookup in a table of 32 by the low bits of an index.
    static constexpr bool has_tables_of_32 = true;
    struct real_table {
        reals low, high;
    };
    struct integer_table {
        integers low, high;
    };
    static real_table table_of_32(const float *p) { return {load(p), load(p + lanes)}; }
    static integer_table table_of_32(const std::int32_t *p) { return {load(p), load(p + lanes)}; }
    static reals look_up_32(const real_table &t, integers index) {
        return _mm512_permutex2var_ps(t.low, index, t.high);
    }
    static integers look_up_32(const integer_table &t, integers index) {
        return _mm512_permutex2var_epi32(t.low, index, t.high);
    }

    // Lookup of 32 elements in a table of the results of the sixteen 4-bit values. Permutations use only the low bits
    // of an index, so the others need not be cleared. Permutations of words use five bits: their table holds the
    // results twice.
    static constexpr std::int64_t looked_up = 32;
    static reals table_of(const float *, reals values) { return values; }
    template <typename Real>
    static integers table_of(const Real *p, reals values) {
        return pack(p, values, values);
    }
    static several<avx512, 2> look_up(const unsigned char *packed, reals table) {
        const auto sixteen = [&](int k) {
            const __m512i bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(packed + k)));
            return as_integers(_mm512_permutexvar_ps(_mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28)), table));
        };
        return {sixteen(0), sixteen(8)};
    }
    static several<avx512, 1> look_up(const unsigned char *packed, integers table) {
        const __m512i bytes = _mm512_cvtepu8_epi32(load_bytes(packed));
        return {_mm512_permutexvar_epi16(_mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 12)), table)};
    }

  private:
    static reals joined(__m256 low, __m256 high) { return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1); }
    static reals widened(const float *, __m512i bits) { return as_reals(bits); }
    static integers widened(const std::int32_t *, __m512i bits) { return bits; }
    static integers widened(const std::uint32_t *, __m512i bits) { return _mm512_xor_si512(bits, splat(INT32_MIN)); }
    static integers widened(const std::int8_t *, __m128i bits) { return _mm512_cvtepi8_epi32(bits); }
    static integers widened(const std::uint8_t *, __m128i bits) { return _mm512_cvtepu8_epi32(bits); }
    static integers widened(const std::int16_t *, __m256i bits) { return _mm512_cvtepi16_epi32(bits); }
    static integers widened(const std::uint16_t *, __m256i bits) { return _mm512_cvtepu16_epi32(bits); }
    static reals widened(const float16_bits *, __m256i bits) { return _mm512_cvtph_ps(bits); }
    static reals widened(const bfloat16_bits *, __m256i bits) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
    }
    static __m256i to_float16(reals a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
    /// Rounds to nearest even: adds just under half a unit, plus 1 if the last kept bit is odd. NaN gets the quiet bit
    /// instead, since its upper half may be that of infinity. VCVTNEPS2BF16 would flush subnormals.
    static integers rounded_to_upper_half(reals a) {
        const __m512i bits = _mm512_castps_si512(a);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        const __m512i quiet_nan = _mm512_set1_epi32(0x22); // quiet and signaling NaN become quiet; all else is the sum
        return _mm512_castps_si512(_mm512_fixupimm_ps(_mm512_castsi512_ps(rounded), a, quiet_nan, 0));
    }

    /// Restores column order of packed words.
    static __m512i in_fours(__m512i words) {
        return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), words);
    }
};

} // namespace
} // namespace dynquant::simd
