// Which ops of a graph are layers.
#pragma once

#include <map>

#include "graph/layer/chain.hpp"

namespace dynquant::graph::core {

struct found_chains {
    std::vector<chain> chains;            // in the order of their products
    std::map<size_t, std::string> others; // MatMuls of a Dequantize that are no layer, by id: why
};

/// ops: producers before consumers.
found_chains find_chains(const std::vector<op_pointer> &ops);

} // namespace dynquant::graph::core
