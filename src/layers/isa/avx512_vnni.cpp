#include <immintrin.h>

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {
namespace {

struct avx512_vnni {
    static constexpr int lanes = 16, rows = vnni_rows;
    static constexpr std::int64_t columns = vnni_columns;
    static constexpr bool has_excess = false;
    using vector = __m512i;
    static vector load(const void *p) { return _mm512_loadu_si512(p); }
    static void store(void *p, vector v) { _mm512_storeu_si512(p, v); }
    static vector broadcast(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    static vector dot(vector sums, vector x, vector w) { return _mm512_dpbusd_epi32(sums, x, w); }
};

} // namespace

constinit const multiply_panels_function avx512_vnni_multiply_panels = multiply_panels<avx512_vnni>;

} // namespace dynquant::layers
