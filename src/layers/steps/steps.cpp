#include "layers/steps/steps.hpp"

#include "targets/features.hpp"

namespace dynquant::layers {

float_steps_function float_steps_function_for(targets::features available) {
    using namespace targets;
    return pick<float_steps_function>(available, {
#if defined(__x86_64__)
        {avx512, avx512_float_steps}, {avx2, avx2_float_steps},
#endif
                {scalar, scalar_float_steps},
    });
}

} // namespace dynquant::layers
