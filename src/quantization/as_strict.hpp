// Kernels that know oneDNN's rules compute a part of ONNX's, too.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// Why a statement under numerics::onnx is none under numerics::strict with the same results, as the end of a sentence;
/// or nothing, as for the other rules. q has passed check().
std::optional<std::string> differs_from_strict(const quantization &q);

} // namespace dynquant
