// What the processor can do.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The strongest instruction set of this processor that the native kernel has code for.
isa processor_isa();

/// Beyond isa::avx512: AVX512-FP16, arithmetic of f16.
bool processor_has_fp16();

} // namespace dynquant
