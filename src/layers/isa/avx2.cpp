#include "targets/avx2.hpp"

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {

constinit const panel_kind avx2_panels = kind_of<simd::avx2, 2, 6>();

} // namespace dynquant::layers
