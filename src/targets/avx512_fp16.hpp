// Vectors of AVX512-FP16: thirty-two lanes of f16. Subnormals take full speed, and DAZ and FTZ have no effect.
#pragma once

#include <cstdint>
#include <immintrin.h>
#include <type_traits>

#include "targets/avx512.hpp"

namespace dynquant::simd {
namespace {

struct avx512_fp16 {
    using reals = __m512h;
    using integers = __m512i; // of 16 bits
    static constexpr std::int64_t lanes = 32;

    /// Rounds to f16.
    static float rounded(float value) { return _mm_cvtss_f32(_mm_cvtph_ps(to_float16(value))); }
    static reals splat(float value) { return _mm512_castsi512_ph(_mm512_broadcastw_epi16(to_float16(value))); }
    static integers splat(std::int32_t value) { return _mm512_set1_epi16(static_cast<std::int16_t>(value)); }

    static reals load(const float16_bits *p) { return _mm512_loadu_ph(p); }
    static reals load_partial(const float16_bits *p, std::int64_t count) {
        return _mm512_castsi512_ph(_mm512_maskz_loadu_epi16(_cvtu32_mask32(first_lanes(count)), p));
    }

    static reals fma(reals a, reals b, reals c) { return _mm512_fmadd_ph(a, b, c); }
    static reals min(reals bound, reals x) { return _mm512_min_ph(bound, x); } // NaN in x passes

    /// To nearest even. NaN and what s16 cannot represent become its lowest value.
    static integers to_integers(reals x) { return _mm512_cvtph_epi16(x); }
    static integers add_saturated(integers a, integers b) { return _mm512_adds_epi16(a, b); }

    /// To 8 bits. Packs within each 128-bit quarter, so the groups of eight bytes have the order a0 b0 a1 b1 ..., then
    /// restores column order.
    template <typename Integer>
    static integers pack(const Integer *, integers a, integers b) {
        const __m512i both = std::is_signed_v<Integer> ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
        return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), both);
    }
    static void store(void *p, integers a) { avx512::store(p, a); }
    static void store_bytes(void *p, std::int64_t count, integers a) { avx512::store_bytes(p, count, a); }
    static void stream(void *p, integers a) { avx512::stream(p, a); }

  private:
    static __m128i to_float16(float value) { return _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT); }

    /// A bit for each of the first `count` lanes; none when count is negative, all when it is 32 or more.
    static std::uint32_t first_lanes(std::int64_t count) {
        const auto clipped = count < 0 ? 0 : count < lanes ? count : lanes;
        return _bzhi_u32(~0U, static_cast<unsigned>(clipped));
    }
};

} // namespace
} // namespace dynquant::simd
