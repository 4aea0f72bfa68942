// One stage for each layer of several nodes, and plain stages for all other nodes.
#pragma once

#include "model/op_schema.hpp"

namespace dynquant::models {

/// The results equal those of plain_stages(), bit for bit. Precondition: infer(g). Throws error.
std::vector<placed_stage> fused_stages(const graph &g, const options &opts);

} // namespace dynquant::models
