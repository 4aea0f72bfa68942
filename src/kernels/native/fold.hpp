// Two multipliers of requantize as one.
#pragma once

#include <optional>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// A statement that multiplies once where q, which has passed check(), multiplies twice, with the same results: the
/// second scales are powers of two, as a right shift is codified. Nothing where the multipliers are not known
/// beforehand, or others.
std::optional<quantization> folded(const quantization &q);

} // namespace dynquant::kernels::native
