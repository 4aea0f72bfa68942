#include "targets/avx2_vnni.hpp"

#include "layers/planar/isa/multiply_cells.hpp"

namespace dynquant::layers {

constinit const planar_kind avx2_vnni_planar {multiply_cells<simd::avx2_vnni, 4, 2>, 4};

} // namespace dynquant::layers
