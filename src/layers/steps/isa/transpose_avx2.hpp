// 8 x 8 floats transposed in registers: unpack, shuffle, and exchange of halves.
#pragma once

#include <immintrin.h>

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {
namespace {

struct transpose_by_avx2 {
    static void transpose(const float *from, std::int64_t from_stride, float *to, std::int64_t to_stride) {
        __m256 pairs[8], fours[8];
        for (int i = 0; i < 8; i += 2) {
            const auto a = _mm256_loadu_ps(from + i * from_stride), b = _mm256_loadu_ps(from + (i + 1) * from_stride);
            pairs[i] = _mm256_unpacklo_ps(a, b);
            pairs[i + 1] = _mm256_unpackhi_ps(a, b);
        }
        for (int i = 0; i < 8; i += 4)
            for (int j = 0; j < 2; ++j) {
                const auto a = pairs[i + j], b = pairs[i + j + 2];
                fours[i + 2 * j] = _mm256_shuffle_ps(a, b, 0x44);
                fours[i + 2 * j + 1] = _mm256_shuffle_ps(a, b, 0xee);
            }
        for (int i = 0; i < 4; ++i) {
            _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20));
            _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31));
        }
    }
};

} // namespace
} // namespace dynquant::layers
