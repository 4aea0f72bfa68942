#include <immintrin.h>

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {
namespace {

/// Panels of `vectors` vectors. Of the 32 registers, 24 are sums, one the broadcast and `vectors` the weights.
template <int vectors>
struct avx512_vnni {
    static constexpr int lanes = vnni_lanes, rows = vectors == 1 ? 12 : 24 / vectors;
    static constexpr std::int64_t columns = lanes * vectors;
    static constexpr bool has_excess = false;
    using vector = __m512i;
    static vector load(const void *p) { return _mm512_loadu_si512(p); }
    static void store(void *p, vector v) { _mm512_storeu_si512(p, v); }
    static vector broadcast(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    static vector dot(vector sums, vector x, vector w) { return _mm512_dpbusd_epi32(sums, x, w); }
};

} // namespace

constinit const multiply_panels_function avx512_vnni_multiply_panels[vnni_vectors] = {multiply_panels<avx512_vnni<1>>,
        multiply_panels<avx512_vnni<2>>, multiply_panels<avx512_vnni<3>>, multiply_panels<avx512_vnni<4>>};

} // namespace dynquant::layers
