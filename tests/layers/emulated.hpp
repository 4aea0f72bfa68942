// Loops for processors that few machines of the tests are, compiled with functions or other instructions in place of
// those that are missing: AVX2-VNNI's run on any processor with AVX2, AVX-512
// VNNI's and AMX's products in blocks on one with AVX-512, and AMX's panels with AVX-512 VNNI.
#pragma once

#include "layers/conv/channels_first/channels_first.hpp"
#include "layers/conv/depthwise/depthwise.hpp"
#include "layers/gemm/by_blocks/block_panels.hpp"
#include "layers/gemm/panel_product.hpp"

namespace dynquant::layers {

extern const panel_loops emulated_avx2_vnni_panels, emulated_avx512_vnni_panels, emulated_amx_int8_panels;
extern const channels_first_loop emulated_avx2_vnni_channels_first;
extern const block_loop emulated_avx2_vnni_block, emulated_avx512_vnni_block, emulated_amx_int8_block;
extern const depthwise_function emulated_avx2_vnni_quads;

} // namespace dynquant::layers

namespace dynquant::test {

/// As LDTILECFG reads it (Intel SDM, volume 2).
struct emulated_tile_configuration {
    std::uint8_t palette = 0, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
};

/// Of this thread.
struct emulated_tile_state {
    emulated_tile_configuration configuration;
    int faults, products; // so far
};
emulated_tile_state emulated_state();
void load_emulated_configuration(const emulated_tile_configuration &given);

} // namespace dynquant::test
