// The instruction sets of this processor.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The strongest instruction set of this processor that the native kernel has code for.
isa processor_isa();

/// Whether it has isa::avx512 and AVX512-FP16, arithmetic of f16.
bool processor_has_fp16();

} // namespace dynquant
