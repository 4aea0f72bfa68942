// Types and shapes of all values.
#pragma once

#include "model/graph.hpp"

namespace dynquant::models {

/// Fills g.value_types: from the inputs' types and shapes, those that the file leaves open given by `shapes`, through
/// all nodes; and completes inputs and outputs. Throws error for whatever breaks an operator's specification, is not
/// known here, or is not as the file says. The graph has no nodes of Constant.
void infer(graph &g, const std::map<std::string, dims> &shapes);

} // namespace dynquant::models
