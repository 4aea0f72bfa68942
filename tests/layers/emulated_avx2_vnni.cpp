// VPDPBUSD by instructions of AVX2: the words of even bytes, then those of odd ones.
#include "emulated.hpp"

#include <immintrin.h>

namespace {

[[gnu::unused]] __m256i dot_of_bytes(__m256i sums, __m256i a, __m256i b) {
    const auto even = _mm256_madd_epi16(
            _mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
    const auto odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
    return _mm256_add_epi32(sums, _mm256_add_epi32(even, odd));
}

} // namespace

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 dot_of_bytes // NOLINT(bugprone-reserved-identifier)

#include "targets/avx2_vnni.hpp"

#include "layers/conv/channels_first/isa/multiply_cells.hpp"
#include "layers/conv/depthwise/isa/quads.hpp"
#include "layers/gemm/by_blocks/isa/multiply_blocks.hpp"
#include "layers/gemm/isa/multiply_panels.hpp"

namespace dynquant::layers {

constinit const panel_loops emulated_avx2_vnni_panels = panels_of<simd::avx2_vnni>;
constinit const channels_first_loop emulated_avx2_vnni_channels_first = channels_first_of<simd::avx2_vnni>;
constinit const block_loop emulated_avx2_vnni_block = block_of<simd::avx2_vnni>;
constinit const depthwise_function emulated_avx2_vnni_quads = quads_of<simd::avx2_vnni>;

} // namespace dynquant::layers
