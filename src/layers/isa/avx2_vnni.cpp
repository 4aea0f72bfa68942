#include "targets/avx2_vnni.hpp"

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {

constinit const panel_kind avx2_vnni_panels = kind_of<by_bytes<simd::avx2_vnni, 2>, 6>();

} // namespace dynquant::layers
