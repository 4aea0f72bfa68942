#include <immintrin.h>

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {
namespace {

struct avx512 {
    static constexpr std::int64_t lanes = 16;
    using vector = __m512;
    using mask = __mmask16;

    static mask mask_of(std::int64_t count) { return static_cast<mask>((1U << count) - 1); }
    static vector load(const float *p, mask m) { return _mm512_maskz_loadu_ps(m, p); }
    static __m512i load_sums(const std::int32_t *p, mask m) { return _mm512_maskz_loadu_epi32(m, p); }
    static void store(float *p, mask m, vector v) { _mm512_mask_storeu_ps(p, m, v); }

    static void store_bytes(std::byte *p, mask m, vector v) {
        _mm512_mask_cvtepi32_storeu_epi8(p, m, _mm512_cvtps_epi32(v));
    }

    static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
    static vector to_float(__m512i a) { return _mm512_cvtepi32_ps(a); }
    static vector as_float(__m512i a) { return _mm512_castsi512_ps(a); }

    static vector broadcast(float x) { return _mm512_set1_ps(x); }
    static vector multiply(vector x, vector a) { return _mm512_mul_ps(x, a); }
    static vector divide(vector x, vector a) { return _mm512_div_ps(x, a); }
    static vector add(vector x, vector a) { return _mm512_add_ps(x, a); }
    /// MAXPS and MINPS give their second operand where one is NaN.
    static vector clip(vector x, vector a, vector b) { return _mm512_min_ps(b, _mm512_max_ps(a, x)); }
    static vector saturate(vector x, vector a, vector b) { return _mm512_min_ps(_mm512_max_ps(x, a), b); }
    static vector round(vector x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static vector leaky_relu(vector x, vector a) {
        return _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), x, a);
    }

    /// Pairs, fours, and twice the exchange of quarters.
    static void transpose(vector (&x)[lanes]) {
        vector pairs[lanes], fours[lanes];
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

constinit const float_steps_function avx512_float_steps = float_steps<avx512>;

} // namespace dynquant::layers
