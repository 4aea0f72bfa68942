// What the onednn kernel supports: exactly what a reorder does right, by rules stated here. oneDNN is never
// asked, as it accepts statements that it gets wrong.
#pragma once

#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::onednn {

/// Why a reorder cannot compute q, as the end of a sentence, or nothing when it can.
std::optional<std::string> refusal(const quantization &q);

} // namespace dynquant::kernels::onednn
