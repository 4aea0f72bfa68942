// The plain executor: a stage for each node. It is the reference that fused stages must equal, bit for bit.
#pragma once

#include "model/op_schema.hpp"

namespace dynquant::models {

/// The stage of one node. Precondition: infer(g). Throws error.
placed_stage plain_stage(const graph &g, const node &n, const options &opts);

/// The stages of all nodes. Precondition: infer(g). Throws error.
std::vector<placed_stage> plain_stages(const graph &g, const options &opts);

/// A value as the public API describes it.
model_port port_of(const graph &g, const std::string &value);

} // namespace dynquant::models
