#include "targets/avx512_vnni.hpp"

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {

// Of the 32 registers, 24 are sums, one is x and the others the weights.
constinit const panel_kind avx512_vnni_panels[vnni_vectors] = {kind_of<by_bytes<simd::avx512_vnni, 1>, 12>(),
        kind_of<by_bytes<simd::avx512_vnni, 2>, 12>(), kind_of<by_bytes<simd::avx512_vnni, 3>, 8>(),
        kind_of<by_bytes<simd::avx512_vnni, 4>, 6>()};

} // namespace dynquant::layers
