#include "targets/avx512.hpp"

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {

constinit const float_steps_function avx512_float_steps = float_steps<simd::avx512>;

} // namespace dynquant::layers
