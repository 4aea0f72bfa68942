// What the processor can do.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The strongest instruction set of this processor that the native kernel has code for.
isa processor_isa();

} // namespace dynquant
