// A model's graph as finding layers sees it.
#pragma once

#include "layers/match/graph.hpp"
#include "model/graph.hpp"

namespace dynquant::models {

/// Nodes keep their indices. Constants lie in `g`. Precondition: infer(g).
layers::match::graph view_of(const graph &g);

} // namespace dynquant::models
