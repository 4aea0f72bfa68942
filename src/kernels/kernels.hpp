// Choosing a kernel.
#pragma once

#include "kernels/kernel.hpp"

namespace dynquant::kernels {

/// The forced kernel, or the first in order that does not refuse q.
/// Throws error (unimplemented) when the forced kernel refuses q, with its reason.
const kernel &choose(const quantization &q, const settings &s, std::optional<kernel_kind> forced);

} // namespace dynquant::kernels
