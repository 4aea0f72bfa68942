// Choosing a kernel.
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace dynquant::kernels {

/// The kernels of this library, in the order in which they are tried; the last refuses nothing.
std::span<const kernel &(*const)()> in_order();

/// The forced kernel, or the first in order that does not refuse q.
/// Throws error (unimplemented) when the forced kernel refuses q, with its reason.
const kernel &choose(const quantization &q, const settings &s, std::optional<kernel_kind> forced);

} // namespace dynquant::kernels
