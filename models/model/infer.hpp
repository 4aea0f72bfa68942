// Inference of the types and shapes of all values.
#pragma once

#include "model/graph.hpp"

namespace dynquant::models {

/// Fills g.value_types and completes the types and shapes of inputs and outputs. `shapes` gives the shapes of inputs
/// that the file does not fix. Throws error for what breaks an operator's specification, is not implemented, or
/// contradicts the file. Precondition: inline_constants(g).
void infer(graph &g, const std::map<std::string, dims> &shapes);

} // namespace dynquant::models
