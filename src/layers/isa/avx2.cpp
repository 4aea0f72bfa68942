#include "targets/avx2.hpp"

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {

constinit const multiply_panels_function avx2_multiply_panels =
        multiply_panels<simd::avx2, avx2_columns / simd::avx2::lanes, 6>;

} // namespace dynquant::layers
