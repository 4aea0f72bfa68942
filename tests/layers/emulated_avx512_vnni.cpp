// AVX-512 VNNI by functions of AVX-512 BW.
#include "emulated.hpp"

#include "emulated_dot.hpp"

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
