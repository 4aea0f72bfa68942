#include <cstring>

#include <immintrin.h>

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {
namespace {

struct avx2 {
    static constexpr std::int64_t lanes = 8;
    using vector = __m256;
    struct mask {
        std::int64_t count;
        __m256i lanes;
    };

    static mask mask_of(std::int64_t count) {
        const auto index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return {count, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index)};
    }
    static vector load(const float *p, const mask &m) { return _mm256_maskload_ps(p, m.lanes); }
    static __m256i load_sums(const std::int32_t *p, const mask &m) { return _mm256_maskload_epi32(p, m.lanes); }
    static void store(float *p, const mask &m, vector v) {
        if (m.count == lanes)
            _mm256_storeu_ps(p, v); // Zen 3 splits VMASKMOVPS into a store for each lane
        else
            _mm256_maskstore_ps(p, m.lanes, v);
    }

    static void store_bytes(std::byte *p, const mask &m, vector v) {
        const auto low = _mm256_and_si256(_mm256_cvtps_epi32(v), _mm256_set1_epi32(255));
        const auto words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
        const auto bytes = _mm_packus_epi16(words, words);
        std::memcpy(p, &bytes, static_cast<std::size_t>(m.count));
    }

    static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
    static vector to_float(__m256i a) { return _mm256_cvtepi32_ps(a); }
    static vector as_float(__m256i a) { return _mm256_castsi256_ps(a); }

    static vector broadcast(float x) { return _mm256_set1_ps(x); }
    static vector multiply(vector x, vector a) { return _mm256_mul_ps(x, a); }
    static vector divide(vector x, vector a) { return _mm256_div_ps(x, a); }
    static vector add(vector x, vector a) { return _mm256_add_ps(x, a); }
    /// MAXPS and MINPS give their second operand where one is NaN.
    static vector clip(vector x, vector a, vector b) { return _mm256_min_ps(b, _mm256_max_ps(a, x)); }
    static vector saturate(vector x, vector a, vector b) { return _mm256_min_ps(_mm256_max_ps(x, a), b); }
    static vector round(vector x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static vector leaky_relu(vector x, vector a) {
        return _mm256_blendv_ps(x, _mm256_mul_ps(x, a), _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ));
    }

    /// Pairs, fours, halves.
    static void transpose(vector (&x)[lanes]) {
        vector pairs[lanes], fours[lanes];
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

constinit const float_steps_function avx2_float_steps = float_steps<avx2>;

} // namespace dynquant::layers
