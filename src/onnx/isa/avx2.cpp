#include <immintrin.h>

#include "onnx/isa/extremes_of.hpp"

namespace dynquant::onnx {
namespace {

struct avx2 {
    static constexpr int width = 8;
    using vector = __m256;
    using unordered = __m256;
    static vector load(const float *x) { return _mm256_loadu_ps(x); }
    static void store(float *to, vector v) { _mm256_storeu_ps(to, v); }
    // Where the operands are unordered or equal, the instructions give the second.
    static vector least(vector x, vector m) { return _mm256_min_ps(x, m); }
    static vector greatest(vector x, vector m) { return _mm256_max_ps(x, m); }
    static unordered note(unordered u, vector a, vector b) {
        return _mm256_or_ps(u, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
    }
    static bool any(unordered u) { return _mm256_movemask_ps(u) != 0; }
};

} // namespace

constinit const extremes_function avx2_extremes = extremes_of<avx2>;

} // namespace dynquant::onnx
