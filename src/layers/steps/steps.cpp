#include "layers/steps/steps.hpp"

#include "targets/features.hpp"

namespace dynquant::layers {

float_steps_function float_steps_function_for(targets::features available) {
    return *targets::pick(available, float_steps_table);
}

} // namespace dynquant::layers
