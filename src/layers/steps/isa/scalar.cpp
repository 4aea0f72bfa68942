#include "targets/scalar.hpp"

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {

constinit const float_steps_function scalar_float_steps = float_steps<simd::scalar>;

} // namespace dynquant::layers
