// Transposes of 16 x 16 reals.
#pragma once

#include "targets/avx512.hpp"

namespace dynquant::simd {
namespace {

struct avx512_tiles : avx512 {
    /// Pairs, fours, and twice the exchange of quarters.
    static void transpose(reals (&x)[lanes]) {
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
};

} // namespace
} // namespace dynquant::simd
