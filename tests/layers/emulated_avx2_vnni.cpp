// AVX-VNNI by functions of AVX2.
#include "emulated.hpp"

#include "emulated_dot.hpp"

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
