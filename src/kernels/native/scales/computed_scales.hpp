// Statements whose scales are computed (dynquant::scale_rule): ranges of blocks, parameters, and then a statement with
// these parameters, a box of the tensor at a time.
#pragma once

#include "kernels/native/implementation.hpp"

namespace dynquant::kernels::native {

std::unique_ptr<implementation> implement_computed(
        const quantization &q, const settings &s, const instruction_set &set);

} // namespace dynquant::kernels::native
