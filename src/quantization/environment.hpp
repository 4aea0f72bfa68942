// Environment variables. Those of prepare() are read at each call, so that a program may set them at any time.
#pragma once

#include <optional>

#include "dynquant/quantization.hpp"
#include "targets/features.hpp"

namespace dynquant::environment {

/// DYNQUANT_KERNEL and DYNQUANT_MAX_ISA. Throw error (invalid_arguments) on an unknown name.
std::optional<kernel_kind> kernel();
std::optional<isa> max_isa();

/// DYNQUANT_WEIGHT_ONLY: whether layers whose weights alone are quantized, in blocks of rows, make x s8 in the same
/// blocks (int8_x); else x stays float (float_x). Throws as those do.
bool quantizes_x();

/// Throws where one of the three above would, so that a wrong value is told before any is needed.
void check();

/// The processor's features up to a cap, which is DYNQUANT_MAX_ISA where none is given.
targets::features usable_features(std::optional<isa> cap = {});

/// DYNQUANT_VERBOSE: 0 silent, 1 a line for each run, 2 also for each prepare. Read once for the process.
int verbose();

} // namespace dynquant::environment
