// What the onednn kernel supports: statements that a reorder computes correctly, by dynquant's rules. oneDNN's checks
// do not help, as it accepts statements that it computes wrongly.
#pragma once

#include <optional>
#include <string>

#include "quantization/canonical.hpp"

namespace dynquant::kernels::onednn {

/// Why a reorder cannot compute the rule and the types of q, as the end of a sentence, or nothing when it can.
std::optional<std::string> refusal(const quantization &q);
/// The same of its layout and its parameters. The volume is not zero.
std::optional<std::string> refusal(const quantization &q, const std::vector<canonical_form> &forms);

} // namespace dynquant::kernels::onednn
