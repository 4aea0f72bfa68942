// Products in panels by AMX, with tiles in memory.
#include "emulated_tiles.hpp"

#define amx_int8_panels emulated_amx_int8_panels
#include "layers/gemm/isa/amx_int8.cpp" // NOLINT(bugprone-suspicious-include)

namespace dynquant::test {

emulated_tile_state emulated_state() {
    return {emulated.now, emulated.faults, emulated.products};
}

void load_emulated_configuration(const emulated_tile_configuration &given) {
    emulated.load_configuration(&given);
}

} // namespace dynquant::test
