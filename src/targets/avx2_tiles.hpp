// Transposes of 8 x 8 reals.
#pragma once

#include "targets/avx2.hpp"

namespace dynquant::simd {
namespace {

struct avx2_tiles : avx2 {
    /// Pairs, fours, halves.
    static void transpose(reals (&x)[lanes]) {
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
};

} // namespace
} // namespace dynquant::simd
