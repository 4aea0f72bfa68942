// Which nodes of a graph the provider claims, and which of them become one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/match/matcher.hpp"
#include "onnxruntime/provider/options.hpp"
#include "onnxruntime/provider/read_graph.hpp"

namespace dynquant::onnxruntime {

/// Nodes that become one, as they were matched.
struct claimed {
    std::vector<std::size_t> nodes;
    std::vector<layers::match::layer_match> layers; // none: of a node that quantizes. Several: a group or a chain
    bool is_group = false;                          // layers of one x, behind the node that quantizes it
    std::string y = {};                             // the name of an output that it has
    std::string name = {};                          // "dynquant_conv1_relu"
};

/// say: takes what the option `verbose` is to log: what is claimed, and why other nodes are left to ONNX Runtime.
std::vector<claimed> find_claims(const graph &g, const options &o, const std::function<void(const std::string &)> &say);

} // namespace dynquant::onnxruntime
