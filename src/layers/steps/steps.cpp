#include "layers/steps/steps.hpp"

namespace dynquant::layers {

float_steps_function float_steps_function_for(isa value) {
#if defined(__x86_64__)
    if (value >= isa::avx512) return avx512_float_steps;
    if (value >= isa::avx2) return avx2_float_steps;
#endif
    return scalar_float_steps;
}

} // namespace dynquant::layers
