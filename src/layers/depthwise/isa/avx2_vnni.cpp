#include "targets/avx2_vnni.hpp"

#include "layers/depthwise/isa/quads.hpp"

namespace dynquant::layers {

constinit const depthwise_function avx2_vnni_depthwise = depthwise_by_quads<simd::avx2_vnni, simd::avx2_vnni>;

} // namespace dynquant::layers
