// VPDPBUSD by instructions of AVX-512 BW: the words of even bytes, then those of odd ones.
#include "emulated.hpp"

#include <immintrin.h>

namespace {

[[gnu::unused]] __m512i dot_of_bytes(__m512i sums, __m512i a, __m512i b) {
    const auto even = _mm512_madd_epi16(
            _mm512_and_si512(a, _mm512_set1_epi16(0xff)), _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8));
    const auto odd = _mm512_madd_epi16(_mm512_srli_epi16(a, 8), _mm512_srai_epi16(b, 8));
    return _mm512_add_epi32(sums, _mm512_add_epi32(even, odd));
}
[[gnu::unused]] __m256i dot_of_bytes(__m256i sums, __m256i, __m256i) { // no loop below uses it
    return sums;
}

} // namespace

#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 dot_of_bytes // NOLINT(bugprone-reserved-identifier)
#undef _mm256_dpbusd_epi32
#define _mm256_dpbusd_epi32 dot_of_bytes // NOLINT(bugprone-reserved-identifier)

#include "targets/avx512_vnni.hpp"

#include "layers/gemm/by_blocks/isa/multiply_blocks.hpp"
#include "layers/gemm/isa/multiply_panels.hpp"

namespace dynquant::layers {

constinit const panel_loops emulated_avx512_vnni_panels = panels_of<simd::avx512_vnni>;
constinit const block_loop emulated_avx512_vnni_block = block_of<simd::avx512_vnni>;

} // namespace dynquant::layers
