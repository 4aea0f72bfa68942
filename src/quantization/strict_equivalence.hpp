// Which statements under numerics::onnx a kernel of numerics::strict can compute.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The part of check() that depends on the rule: whether `rule`, which need not be q's, has the direction, parameters
/// and types of q.
std::optional<problem> check_under(const quantization &q, numerics rule);

/// Why a statement under numerics::onnx has other results under numerics::strict, as the end of a sentence. Nothing if
/// it has the same ones, and for other rules. Precondition: q has passed check().
std::optional<std::string> differs_from_strict(const quantization &q);

} // namespace dynquant
