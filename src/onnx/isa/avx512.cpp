#include <immintrin.h>

#include "onnx/isa/extremes_of.hpp"

namespace dynquant::onnx {
namespace {

struct avx512 {
    static constexpr int width = 16;
    using vector = __m512;
    using unordered = __mmask16;
    static vector load(const float *x) { return _mm512_loadu_ps(x); }
    static void store(float *to, vector v) { _mm512_storeu_ps(to, v); }
    // Where the operands are unordered or equal, the instructions give the second.
    static vector least(vector x, vector m) { return _mm512_min_ps(x, m); }
    static vector greatest(vector x, vector m) { return _mm512_max_ps(x, m); }
    static unordered note(unordered u, vector a, vector b) {
        return _kor_mask16(u, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q));
    }
    static bool any(unordered u) { return u != 0; }
};

} // namespace

constinit const extremes_function avx512_extremes = extremes_of<avx512>;

} // namespace dynquant::onnx
