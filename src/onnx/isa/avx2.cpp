#include <immintrin.h>

#include "onnx/isa/extremes_of.hpp"

namespace dynquant::onnx {
namespace {

struct avx2 : vectors<32> {
    using unordered = __m256;
    static unordered mark_nan(unordered u, vector a, vector b) {
        return _mm256_or_ps(u, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
    }
    static bool any(unordered u) { return _mm256_movemask_ps(u) != 0; }
};

} // namespace

constinit const extremes_function avx2_extremes = extremes_of<avx2>;

} // namespace dynquant::onnx
