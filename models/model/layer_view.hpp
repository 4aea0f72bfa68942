// A model's graph as finding layers sees it.
#pragma once

#include "layers/match/graph.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// Nodes keep their indices. Constants lie in `g`. Precondition: infer(g).
layers::match::graph view_of(const graph &g);

/// A graph of this node alone.
layers::match::graph view_of(const op_node &n);

} // namespace dynquant::models
