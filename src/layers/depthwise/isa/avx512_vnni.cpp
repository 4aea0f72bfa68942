#include "targets/avx512_vnni.hpp"

#include "layers/depthwise/isa/quads.hpp"

namespace dynquant::layers {

constinit const depthwise_function avx512_vnni_depthwise = depthwise_by_quads<simd::avx512_vnni, simd::avx512_vnni_256>;

} // namespace dynquant::layers
