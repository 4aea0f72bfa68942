// Vectors of AVX2 and FMA: eight lanes. Instructions and their NaN rules: Intel SDM, volume 2.
#pragma once

#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <type_traits>

#include "targets/avx2_bytes.hpp"
#include "targets/operators.hpp"
#include "targets/simd.hpp"

namespace dynquant::simd {
namespace {

struct avx2 : vector_operators<32>, avx2_bytes {
    using of_32_bytes = avx2;
    using reals = __m256;
    using integers = __m256i;
    struct mask {
        std::int64_t count; // at most lanes
        integers lanes;     // all ones
    };
    static constexpr const char *name = "avx2";
    static constexpr std::int64_t lanes = 8;
    static constexpr bool has_fma = true;
    static constexpr int registers = 16;
    static constexpr bool has_tables_of_32 = false; // no lookup in one instruction

    static reals splat(float value) { return _mm256_set1_ps(value); }
    static integers splat(std::int32_t value) { return _mm256_set1_epi32(value); }
    static doubles splat(double value) { return {_mm256_set1_pd(value), _mm256_set1_pd(value)}; }

    static reals load(const float *p) { return _mm256_loadu_ps(p); }
    static integers load(const std::int32_t *p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)); }
    static integers load(const std::int8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(as_vector(p))); }
    static integers load(const std::uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(as_vector(p))); }
    static integers load(const std::int16_t *p) { return _mm256_cvtepi16_epi32(_mm_loadu_si128(as_vector(p))); }
    static integers load(const std::uint16_t *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128(as_vector(p))); }
    static integers load(const std::uint32_t *p) {
        return _mm256_xor_si256(load(reinterpret_cast<const std::int32_t *>(p)), splat(INT32_MIN));
    }

    static reals load(const float16_bits *p) { return _mm256_cvtph_ps(_mm_loadu_si128(as_vector(p))); }
    static reals load(const bfloat16_bits *p) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(as_vector(p))), 16));
    }
    static void load_pairs(const bfloat16_bits *p, reals &even, reals &odd) {
        const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
        even = as_reals(_mm256_slli_epi32(pairs, 16));
        odd = as_reals(_mm256_and_si256(pairs, splat(~0xffff)));
    }

    /// Bytes as the upper bytes of f16.
    static reals load_as_upper_byte(const std::uint8_t *p) {
        return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(_mm_loadl_epi64(as_vector(p))), 8));
    }
    /// Bytes as f16 with a 0 in the exponent's highest bit: the sign, that 0, and the byte's other seven bits.
    static reals load_as_small_float16(const std::uint8_t *p) {
        const __m128i apart = _mm_slli_epi16(_mm_cvtepi8_epi16(_mm_loadl_epi64(as_vector(p))), 7);
        return _mm256_cvtph_ps(_mm_and_si128(apart, _mm_set1_epi16(static_cast<std::int16_t>(0xbfff))));
    }

    static mask first_lanes(std::int64_t count) {
        const auto clipped = count < 0 ? 0 : count < lanes ? count : lanes;
        const auto index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return {clipped, _mm256_cmpgt_epi32(splat(static_cast<std::int32_t>(clipped)), index)};
    }
    static reals load(const float *p, const mask &m) { return _mm256_maskload_ps(p, m.lanes); }
    static integers load(const std::int32_t *p, const mask &m) { return _mm256_maskload_epi32(p, m.lanes); }
    static reals load_partial(const float *p, std::int64_t count) { return load(p, first_lanes(count)); }
    template <typename T>
    [[gnu::noinline]] static auto load_partial(const T *p, std::int64_t count) { // of 16 or 32 bits
        if (count >= lanes) return load(p);
        T rest[lanes] = {};
        if (count > 0) std::memcpy(rest, p, static_cast<std::size_t>(count) * sizeof(T));
        return load(rest);
    }
    static integers load_partial(const std::int32_t *p, std::int64_t count) { return load(p, first_lanes(count)); }
    static integers load_partial(const std::int8_t *p, std::int64_t count) {
        return _mm256_cvtepi8_epi32(load_bytes(p, count));
    }
    static integers load_partial(const std::uint8_t *p, std::int64_t count) {
        return _mm256_cvtepu8_epi32(load_bytes(p, count));
    }

    static reals pick(const float *p, integers index) { return _mm256_permutevar8x32_ps(load(p), index); }
    static integers pick(const std::int32_t *p, integers index) { return _mm256_permutevar8x32_epi32(load(p), index); }

    /// Transposes 8 x 8 reals: pairs, fours, halves.
    static void transpose_reals(reals (&x)[lanes]) {
        reals pairs[lanes], fours[lanes];
        unroll<4>([&](int i) __attribute__((always_inline)) {
            pairs[2 * i] = _mm256_unpacklo_ps(x[2 * i], x[2 * i + 1]);
            pairs[2 * i + 1] = _mm256_unpackhi_ps(x[2 * i], x[2 * i + 1]);
        });
        unroll<4>([&](int i) __attribute__((always_inline)) {
            const int first = i / 2 * 4, j = i % 2;
            fours[first + 2 * j] = _mm256_shuffle_ps(pairs[first + j], pairs[first + j + 2], 0x44);
            fours[first + 2 * j + 1] = _mm256_shuffle_ps(pairs[first + j], pairs[first + j + 2], 0xee);
        });
        unroll<4>([&](int i) __attribute__((always_inline)) {
            x[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
            x[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
        });
    }

    static reals fma(reals a, reals b, reals c) { return _mm256_fmadd_ps(a, b, c); }
    static reals negated_fma(reals a, reals b, reals c) { return _mm256_fnmadd_ps(a, b, c); }
    // Products of integers, added to the sums, which wrap.
    template <bool is_signed>
    static integers load_words(const void *p) { // of 16 bytes
        const auto bytes = _mm_loadu_si128(static_cast<const __m128i *>(p));
        return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    }
    /// Two of 16 bits to each lane.
    static integers dot_pairs(integers sums, integers a, integers b) { return add(sums, _mm256_madd_epi16(a, b)); }
    /// Four of u8 and s8 to each lane. VPMADDUBSW adds two in 16 bits, with saturation.
    static constexpr bool dot_saturates = true, dot_is_signed = false;
    static integers dot(integers sums, integers a, integers b) {
        return dot_pairs(sums, _mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1));
    }

    /// Four of u8 below 16 and s8, added to sums in parts of 16 bits, which hold this many: 2 * 15 * 128 * 8 < 2^15.
    static constexpr std::int64_t most_small_dots = 8;
    static integers dot_small(integers parts, integers a, integers b) {
        // g++ would add products to each other first, in more registers than there are.
        __asm__("vpaddw %1, %0, %0" : "+x"(parts) : "x"(_mm256_maddubs_epi16(a, b)));
        return parts;
    }
    static integers sums_of_small(integers parts, std::int16_t factor) {
        return _mm256_madd_epi16(parts, _mm256_set1_epi16(factor));
    }
    /// g++ would load it again for each use.
    static integers load_to_register(const void *p) {
        auto result = load_bits(p);
        __asm__("" : "+x"(result));
        return result;
    }

    // MINPS and MAXPS give the second operand when either is NaN.
    static reals min(reals bound, reals x) { return _mm256_min_ps(bound, x); }
    static reals max(reals bound, reals x) { return _mm256_max_ps(bound, x); }
    static reals abs(reals x) { return _mm256_andnot_ps(splat(-0.0F), x); }
    /// Rounds to f16 or bf16, NaN to a quiet one.
    static reals rounded(const float16_bits *, reals x) { return _mm256_cvtph_ps(to_float16(x)); }
    static reals rounded(const bfloat16_bits *, reals x) {
        return as_reals(_mm256_and_si256(rounded_to_upper_half(x), splat(~0xffff)));
    }
    static reals copy_sign(reals magnitude, reals x) { return _mm256_or_ps(magnitude, _mm256_and_ps(splat(-0.0F), x)); }

    static integers min(integers a, integers b) { return _mm256_min_epi32(a, b); }
    static integers select_less(integers a, integers b, integers then, integers otherwise) {
        return _mm256_blendv_epi8(otherwise, then, _mm256_cmpgt_epi32(b, a));
    }
    static reals select_less(reals a, reals b, reals then, reals otherwise) { // false for NaN
        return _mm256_blendv_ps(otherwise, then, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
    }
    static reals to_reals(integers a) { return _mm256_cvtepi32_ps(a); }
    static integers to_integers(reals x) { return _mm256_cvtps_epi32(x); }
    static reals round(reals x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static doubles to_doubles(reals x) {
        return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
    }
    static doubles to_doubles(integers x) {
        return {_mm256_cvtepi32_pd(_mm256_castsi256_si128(x)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1))};
    }
    static reals to_reals(const doubles &x) { return _mm256_set_m128(_mm256_cvtpd_ps(x.high), _mm256_cvtpd_ps(x.low)); }
    /// The lowest value also for NaN: MAXPD gives the second operand when the first is NaN.
    static doubles limited(const doubles &x, double lowest, double highest) {
        const auto low = _mm256_set1_pd(lowest), high = _mm256_set1_pd(highest);
        return {_mm256_min_pd(_mm256_max_pd(x.low, low), high), _mm256_min_pd(_mm256_max_pd(x.high, low), high)};
    }
    /// The low 32 bits of each f64.
    static integers low_halves(const doubles &x) {
        const auto low = _mm256_castpd_ps(x.low), high = _mm256_castpd_ps(x.high);
        return in_fours(_mm256_castps_si256(_mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0))));
    }
    /// Rounds to odd (numerics.hpp): the neighbour of an inexact value whose last bit is set.
    static reals rounded_to_odd(const doubles &x) {
        const auto half = [](__m256d value) {
            const __m256d sign = _mm256_set1_pd(-0.0);
            const __m128 nearest = _mm256_cvtpd_ps(value);
            const __m256d back = _mm256_cvtps_pd(nearest);
            const auto narrow = [](__m256d mask) {
                const __m256 halves = _mm256_castpd_ps(mask);
                return _mm_castps_si128(_mm_shuffle_ps(
                        _mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1), _MM_SHUFFLE(2, 0, 2, 0)));
            };
            const __m128i inexact = narrow(_mm256_cmp_pd(back, value, _CMP_NEQ_OQ));
            const __m128i above =
                    narrow(_mm256_cmp_pd(_mm256_andnot_pd(sign, back), _mm256_andnot_pd(sign, value), _CMP_GT_OQ));
            const __m128i towards_zero = _mm_add_epi32(_mm_castps_si128(nearest), above); // a mask is -1
            return _mm_castsi128_ps(_mm_or_si128(towards_zero, _mm_srli_epi32(inexact, 31)));
        };
        return _mm256_set_m128(half(x.high), half(x.low));
    }
    static reals subtract_exactly(integers a, integers b) { return to_reals(to_doubles(a) - to_doubles(b)); }

    static void store(float *p, reals a) { _mm256_storeu_ps(p, a); }
    static void store(void *p, integers a) { _mm256_storeu_si256(static_cast<__m256i *>(p), a); }
    static void store(float *p, const mask &m, reals a) {
        if (m.count == lanes)
            store(p, a); // Zen 3 splits VMASKMOVPS into a store for each lane
        else
            _mm256_maskstore_ps(p, m.lanes, a);
    }
    static void store_partial(float *p, std::int64_t count, reals a) {
        _mm256_maskstore_ps(p, first_lanes(count).lanes, a);
    }
    static void store_partial(std::int32_t *p, std::int64_t count, integers a) {
        _mm256_maskstore_epi32(p, first_lanes(count).lanes, a);
    }
    /// The lowest byte of each lane.
    static void store_low_bytes(void *p, const mask &m, integers a) {
        const auto low = _mm256_and_si256(a, splat(255));
        const auto words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
        const auto bytes = _mm_packus_epi16(words, words);
        if (m.count == lanes)
            _mm_storel_epi64(static_cast<__m128i *>(p), bytes);
        else
            std::memcpy(p, &bytes, static_cast<std::size_t>(m.count));
    }

    [[gnu::noinline]] static void store_bytes(void *p, std::int64_t count, integers a) {
        if (count >= 32) return store(p, a);
        const __m128i low = _mm256_castsi256_si128(a);
        if (count < 16) return store_bytes(p, count, low);
        std::memcpy(p, &low, 16);
        store_bytes(static_cast<unsigned char *>(p) + 16, count - 16, _mm256_extracti128_si256(a, 1));
    }
    static void stream(float *p, reals a) { _mm256_stream_ps(p, a); }
    static void stream(void *p, integers a) { _mm256_stream_si256(static_cast<__m256i *>(p), a); }
    static void fence() { _mm_sfence(); }
    /// Explicit, because compilers omit VZEROUPPER on some paths, and LDMXCSR then waits 80 ns.
    static void zero_upper() { _mm256_zeroupper(); }

    // Packing in steps, within each part of 128 bits; in_order() restores the order of columns. InPairs: load_pairs()
    // gave a and b, and c and d. Rounding gives the lowest value for NaN and infinities.
    static integers words(integers a, integers b) { return _mm256_packs_epi32(a, b); }
    static integers words(reals a, reals b) { return words(to_integers(a), to_integers(b)); }
    static integers add_saturated(integers a, integers b) { return _mm256_adds_epi16(a, b); } // of words
    template <typename Integer>
    static integers bytes(integers ab, integers cd) {
        return std::is_signed_v<Integer> ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);
    }
    template <bool InPairs>
    static integers in_order(integers bytes) {
        if (!InPairs) return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        const __m128i places = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
        return in_fours(_mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(places)));
    }
    // These pack one vector, and store it.
    static __m128i words(integers a) {
        return _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    }
    static __m128i words(reals a) { return words(to_integers(a)); }
    static __m128i add_saturated(__m128i a, __m128i b) { return _mm_adds_epi16(a, b); }
    template <typename Integer>
    static void store_packed(Integer *p, __m128i words) {
        _mm_storel_epi64(reinterpret_cast<__m128i *>(p),
                std::is_signed_v<Integer> ? _mm_packs_epi16(words, words) : _mm_packus_epi16(words, words));
    }
    template <typename Integer>
    static void store_packed(Integer *p, reals a) {
        store_packed(p, words(a));
    }
    // Vectors of bytes.
    static integers min_bytes(integers a, integers b) { return _mm256_min_epu8(a, b); }
    static integers shift_words_right(integers a, int by) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(by)); }
    /// 0 where a > b, as s8, does not hold.
    static integers select_greater_bytes(integers a, integers b, integers then) {
        return _mm256_and_si256(then, _mm256_cmpgt_epi8(a, b));
    }
    /// To 16 bits.
    static integers pack(const float16_bits *, reals a, reals b) {
        return _mm256_set_m128i(to_float16(b), to_float16(a));
    }
    static integers pack(const bfloat16_bits *, reals a, reals b) {
        const auto upper = [](reals x) { return _mm256_srli_epi32(rounded_to_upper_half(x), 16); };
        return in_fours(_mm256_packus_epi32(upper(a), upper(b)));
    }
    template <typename Integer>
    static integers pack(const Integer *, reals a, reals b) {
        return in_fours(std::is_signed_v<Integer> ? words(a, b) : _mm256_packus_epi32(to_integers(a), to_integers(b)));
    }
    static constexpr std::int64_t looked_up = 0; // tables of sixteen pay in AVX-512 only
  private:
    static __m128i to_float16(reals a) { return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
    /// Rounds to nearest even: adds just under half a unit, plus 1 if the last kept bit is odd. NaN gets the quiet bit
    /// instead.
    static __m256i rounded_to_upper_half(reals a) {
        const __m256i bits = _mm256_castps_si256(a);
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
        const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
        const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
        return _mm256_blendv_epi8(rounded, quiet, is_nan);
    }

    /// The first `count` bytes, at most 8, zeros beyond.
    static __m128i load_bytes(const void *p, std::int64_t count) {
        if (count >= 8) return _mm_loadl_epi64(as_vector(p));
        const auto *bytes = static_cast<const unsigned char *>(p);
        std::uint64_t value = 0;
        // Parts of 4, 2 and 1 bytes, from the last to the first.
        if (count & 1) value = bytes[count - 1];
        if (count & 2) value = value << 16 | load_bytes_as<std::uint16_t>(bytes + (count & 4));
        if (count & 4) value = value << 32 | load_bytes_as<std::uint32_t>(bytes);
        return _mm_cvtsi64_si128(static_cast<std::int64_t>(value));
    }
    template <typename Integer>
    static std::uint64_t load_bytes_as(const unsigned char *p) {
        Integer value;
        std::memcpy(&value, p, sizeof(value));
        return value;
    }

    /// Stores the first `count` bytes, fewer than 16.
    static void store_bytes(void *p, std::int64_t count, __m128i bytes) {
        auto *to = static_cast<unsigned char *>(p);
        std::int64_t low = _mm_cvtsi128_si64(bytes);
        if (count & 8) {
            std::memcpy(to, &low, 8);
            to += 8;
            low = _mm_extract_epi64(bytes, 1);
        }
        if (count & 4) {
            std::memcpy(to, &low, 4);
            to += 4;
            low >>= 32;
        }
        if (count & 2) {
            std::memcpy(to, &low, 2);
            to += 2;
            low >>= 16;
        }
        if (count & 1) std::memcpy(to, &low, 1);
    }

    /// Restores column order of packed words.
    static __m256i in_fours(__m256i words) { return _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0)); }
};

} // namespace
} // namespace dynquant::simd
