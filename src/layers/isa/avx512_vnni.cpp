#include "targets/avx512_vnni.hpp"

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {

// Of the 32 registers, 24 are sums, one is x and the others the weights.
constinit const multiply_panels_function avx512_vnni_multiply_panels[vnni_vectors] = {
        multiply_panels<simd::avx512_vnni, 1, 12>, multiply_panels<simd::avx512_vnni, 2, 12>,
        multiply_panels<simd::avx512_vnni, 3, 8>, multiply_panels<simd::avx512_vnni, 4, 6>};

} // namespace dynquant::layers
