#include "targets/avx2.hpp"

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {

constinit const float_steps_function avx2_float_steps = float_steps<simd::avx2>;

} // namespace dynquant::layers
