// Which statements under numerics::onnx a kernel of numerics::strict can compute.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// Why a statement under numerics::onnx has other results under numerics::strict, as the end of a sentence. Nothing if
/// it has the same ones, and for other rules. Precondition: q has passed check().
std::optional<std::string> differs_from_strict(const quantization &q);

} // namespace dynquant
