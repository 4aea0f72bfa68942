// AVX-512 VNNI: sums of four products of bytes, in vectors of 16 lanes and, for few channels, of 4.
#pragma once

#include "targets/avx512.hpp"

namespace dynquant::simd {
namespace {

struct avx512_vnni : avx512 {
    static constexpr bool dot_saturates = false;
    /// Adds four products of u8 and s8 to each lane, wrapping.
    static integers dot(integers sums, integers a, integers b) { return _mm512_dpbusd_epi32(sums, a, b); }
    /// g++ would load it again for each use.
    static integers load_to_register(const void *p) {
        auto result = load_bits(p);
        __asm__("" : "+v"(result));
        return result;
    }

    static constexpr std::int64_t bytes = 64;
    static integers load_first_bytes(const void *p, std::int64_t) { return load_bits(p); } // all of them

    /// Interleaves bytes: in each 128-bit lane, vector j gets bytes 4 j to 4 j + 3 of the four vectors.
    static void interleave_bytes(integers (&x)[4]) {
        const auto ab_low = _mm512_unpacklo_epi8(x[0], x[1]), ab_high = _mm512_unpackhi_epi8(x[0], x[1]);
        const auto cd_low = _mm512_unpacklo_epi8(x[2], x[3]), cd_high = _mm512_unpackhi_epi8(x[2], x[3]);
        x[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
        x[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
        x[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
        x[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
    }
    /// Lanes that belong to bytes of interleave_bytes(), in the order of these bytes.
    static void store_interleaved(std::int32_t *p, std::int64_t, const integers (&x)[4]) {
        const auto a = _mm512_shuffle_i32x4(x[0], x[1], 0x44), b = _mm512_shuffle_i32x4(x[0], x[1], 0xee);
        const auto c = _mm512_shuffle_i32x4(x[2], x[3], 0x44), d = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
        store(p, _mm512_shuffle_i32x4(a, c, 0x88));
        store(p + 16, _mm512_shuffle_i32x4(a, c, 0xdd));
        store(p + 32, _mm512_shuffle_i32x4(b, d, 0x88));
        store(p + 48, _mm512_shuffle_i32x4(b, d, 0xdd));
    }
};

/// The same in vectors of 128 bits, of which the first `count` bytes are used.
struct avx512_vnni_128 {
    using integers = __m128i;
    static integers dot(integers sums, integers a, integers b) { return _mm_dpbusd_epi32(sums, a, b); }

    static constexpr std::int64_t bytes = 16;
    static integers load_bits(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
    static integers load_first_bytes(const void *p, std::int64_t count) {
        return _mm_maskz_loadu_epi8(first_bytes(count), p);
    }
    static void interleave_bytes(integers (&x)[4]) {
        const auto ab_low = _mm_unpacklo_epi8(x[0], x[1]), ab_high = _mm_unpackhi_epi8(x[0], x[1]);
        const auto cd_low = _mm_unpacklo_epi8(x[2], x[3]), cd_high = _mm_unpackhi_epi8(x[2], x[3]);
        x[0] = _mm_unpacklo_epi16(ab_low, cd_low);
        x[1] = _mm_unpackhi_epi16(ab_low, cd_low);
        x[2] = _mm_unpacklo_epi16(ab_high, cd_high);
        x[3] = _mm_unpackhi_epi16(ab_high, cd_high);
    }
    static void store_interleaved(std::int32_t *p, std::int64_t count, const integers (&x)[4]) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            _mm_mask_storeu_epi32(p + 4 * j, static_cast<__mmask8>(first_bytes(count) >> 4 * j & 15), x[j]);
    }

  private:
    static __mmask16 first_bytes(std::int64_t count) {
        return static_cast<__mmask16>((1U << count) - 1);
    }
};

} // namespace
} // namespace dynquant::simd
