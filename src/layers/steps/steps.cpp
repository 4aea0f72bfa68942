#include "layers/steps/steps.hpp"

#include "targets/features.hpp"

namespace dynquant::layers {

const float_steps_loops &float_steps_for(targets::features available) {
    return *targets::pick(available, float_steps_table);
}

} // namespace dynquant::layers
