// A chain of ops, claimed as one layer.
#pragma once

#include "graph/layer/chain.hpp"

namespace dynquant::graph::core {

std::shared_ptr<const claimed> claim_layer(chain c);

} // namespace dynquant::graph::core
