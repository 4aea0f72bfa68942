#include "targets/avx2.hpp"

#include "layers/planar/isa/multiply_cells.hpp"

namespace dynquant::layers {

constinit const planar_kind avx2_planar {multiply_cells<simd::avx2, 4, 2>, 2};

} // namespace dynquant::layers
