#include "targets/avx512_vnni.hpp"

#include "layers/planar/isa/multiply_cells.hpp"

namespace dynquant::layers {

constinit const planar_kind avx512_vnni_planar {multiply_cells<simd::avx512_vnni, 8, 3>, 4};

} // namespace dynquant::layers
