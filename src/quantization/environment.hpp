// What the environment says. Read at each prepare(), so that a program may set it at any time.
#pragma once

#include <optional>

#include "dynquant/quantization.hpp"

namespace dynquant::environment {

/// DYNQUANT_KERNEL and DYNQUANT_MAX_ISA. Throw error (invalid_arguments) on a name that is none.
std::optional<kernel_kind> kernel();
std::optional<isa> max_isa();

/// DYNQUANT_VERBOSE: 0 silent, 1 a line for each run, 2 also for each prepare. Read once.
int verbose();

} // namespace dynquant::environment
