// Folds the two multipliers of requantize into one.
#pragma once

#include <optional>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// A statement with the same results as q that multiplies once instead of twice. q has passed check(). Nothing unless
/// both scales are known at prepare and all second scales are powers of two of at most 1, as right shifts are.
std::optional<quantization> folded(const quantization &q);

} // namespace dynquant::kernels::native
