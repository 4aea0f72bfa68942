// Layers of several nodes as one stage each; all other nodes as the plain executor has them.
#pragma once

#include "model/op_schema.hpp"

namespace dynquant::models {

/// Of a graph whose types have been inferred. What the stages compute is what plain_stages() compute, to the bit.
std::vector<placed_stage> fused_stages(const graph &g, const settings &s);

} // namespace dynquant::models
