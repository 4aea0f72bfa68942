// What the onednn kernel supports: statements that a reorder computes correctly, by dynquant's rules. oneDNN's checks
// do not help, as it accepts statements that it computes wrongly.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::onednn {

/// Why a reorder cannot compute q, as the end of a sentence, or nothing when it can.
std::optional<std::string> refusal(const quantization &q);

} // namespace dynquant::kernels::onednn
