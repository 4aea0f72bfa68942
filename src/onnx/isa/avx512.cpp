#include <immintrin.h>

#include "onnx/isa/extremes_of.hpp"

namespace dynquant::onnx {
namespace {

struct avx512 : vectors<64> {
    using unordered = __mmask16;
    static unordered mark_nan(unordered u, vector a, vector b) {
        return _kor_mask16(u, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q));
    }
    static bool any(unordered u) { return u != 0; }
};

} // namespace

constinit const extremes_function avx512_extremes = extremes_of<avx512>;

} // namespace dynquant::onnx
