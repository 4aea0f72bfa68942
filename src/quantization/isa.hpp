// What the processor can do.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The strongest instruction set of this processor that the native kernel has code for.
isa processor_isa();

/// Beyond isa::avx512: permutations of bytes (AVX-512 VBMI).
bool processor_has_vbmi();

} // namespace dynquant
