// The plain executor: a stage for each node. It defines what stages of several nodes must compute, to the bit.
#pragma once

#include "model/op_schema.hpp"

namespace dynquant::models {

/// Of a graph whose types have been inferred. Throws error.
placed_stage plain_stage(const graph &g, const node &n, const settings &s);

/// Of all nodes.
std::vector<placed_stage> plain_stages(const graph &g, const settings &s);

/// A value as the public API describes it.
model_port port_of(const graph &g, const std::string &value);

} // namespace dynquant::models
