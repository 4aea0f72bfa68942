// AVX-512 VNNI: sums of four products of bytes, in vectors of 16 lanes, or of 8.
#pragma once

#include "targets/avx2.hpp"
#include "targets/avx512.hpp"

namespace dynquant::simd {
namespace {

/// avx512_vnni in vectors of eight lanes.
struct avx512_vnni_256 : avx2 {
    static constexpr bool dot_saturates = false;
    static integers dot(integers sums, integers a, integers b) { return _mm256_dpbusd_epi32(sums, a, b); }
};

struct avx512_vnni : avx512 {
    using of_32_bytes = avx512_vnni_256;
    static constexpr bool dot_saturates = false, dot_is_signed = false;
    /// Adds four products of u8 and s8 to each lane, wrapping.
    static integers dot(integers sums, integers a, integers b) { return _mm512_dpbusd_epi32(sums, a, b); }
    /// Two of 16 bits to each lane.
    static integers dot_pairs(integers sums, integers a, integers b) { return add(sums, _mm512_madd_epi16(a, b)); }
    // Small numbers need no parts.
    static constexpr std::int64_t most_small_dots = INT64_MAX / 4;
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }
    static integers sums_of_small(integers sums, std::int16_t) { return sums; }
    /// g++ would load it again for each use.
    static integers load_to_register(const void *p) {
        auto result = load_bits(p);
        __asm__("" : "+v"(result));
        return result;
    }

    /// As in byte_layouts, in quarters in place of halves.
    static void interleave_bytes(integers (&x)[4]) {
        const auto ab_low = _mm512_unpacklo_epi8(x[0], x[1]), ab_high = _mm512_unpackhi_epi8(x[0], x[1]);
        const auto cd_low = _mm512_unpacklo_epi8(x[2], x[3]), cd_high = _mm512_unpackhi_epi8(x[2], x[3]);
        x[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
        x[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
        x[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
        x[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
    }
    static void store_interleaved(std::int32_t *p, const integers (&x)[4]) {
        const auto a = _mm512_shuffle_i32x4(x[0], x[1], 0x44), b = _mm512_shuffle_i32x4(x[0], x[1], 0xee);
        const auto c = _mm512_shuffle_i32x4(x[2], x[3], 0x44), d = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
        store(p, _mm512_shuffle_i32x4(a, c, 0x88));
        store(p + 16, _mm512_shuffle_i32x4(a, c, 0xdd));
        store(p + 32, _mm512_shuffle_i32x4(b, d, 0x88));
        store(p + 48, _mm512_shuffle_i32x4(b, d, 0xdd));
    }
};

} // namespace
} // namespace dynquant::simd
