// On other architectures than x86-64 there are no emulated loops, and tests take none of them.
#include "emulated.hpp"

namespace dynquant::layers {

constinit const panel_loops emulated_avx2_vnni_panels = {}, emulated_avx512_vnni_panels = {},
                            emulated_amx_int8_panels = {};
constinit const channels_first_loop emulated_avx2_vnni_channels_first = {};
constinit const block_loop emulated_avx2_vnni_block = {}, emulated_avx512_vnni_block = {}, emulated_amx_int8_block = {};
constinit const depthwise_function emulated_avx2_vnni_quads = nullptr;

} // namespace dynquant::layers

namespace dynquant::test {

emulated_tile_state emulated_state() {
    return {};
}
void load_emulated_configuration(const emulated_tile_configuration &) {}

} // namespace dynquant::test
