#include "layers/steps/isa/transpose_avx2.hpp"

namespace dynquant::layers {

constinit const float_steps_function avx512_float_steps = float_steps<transpose_by_avx2>;

} // namespace dynquant::layers
