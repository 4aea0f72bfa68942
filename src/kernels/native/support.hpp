// What the native kernel computes: all of the rules strict and any, and of numerics::onnx a part.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// Whether zero points are added to rounded quotients, or the division is not one in f32: q is quantized to integers as
/// numerics::strict cannot say it.
bool rounds_before_zero_points(const quantization &q);

/// Why q, which has passed check(), is not computed, as the end of a sentence; or nothing.
std::optional<std::string> unsupported(const quantization &q);

} // namespace dynquant::kernels::native
