// What the native kernel supports: all of numerics::strict and any, part of numerics::onnx.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// Whether q quantizes to integers in a way that numerics::strict cannot express: it rounds the quotient before it adds
/// the zero point, or does not divide in f32.
bool rounds_before_zero_points(const quantization &q);

/// Why the kernel cannot compute q, as the end of a sentence; or nothing. q has passed check().
std::optional<std::string> unsupported(const quantization &q);

} // namespace dynquant::kernels::native
