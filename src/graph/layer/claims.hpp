// Which layers dynquant takes from oneDNN's partitions, and what is left. Both front-ends partition by it.
#pragma once

#include "graph/layer/chain.hpp"

namespace dynquant::graph::core {

struct graph_modes {
    dnnl_fpmath_mode_t fpmath;
    bool apply_to_int;
    dnnl_graph_partition_policy_t policy;
};

/// A graph in which Wildcards stand for the ops of layers, so that oneDNN partitions around them.
struct graph_around_layers {
    onednn_graph by_onednn;
    std::map<size_t, std::shared_ptr<const claimed>> layers; // by the last op: its Wildcard's partition is the layer's
    std::vector<size_t> others;                              // ops of layers whose Wildcards are no partition
};

/// Nothing if no op is of a layer that dynquant takes, or if the environment forces a kernel other than the native one
/// or is wrong. Takes:
/// - what has a dynamic Dequantize, and what oneDNN does not fuse;
/// - what oneDNN fuses and gets wrong: its fused products take the first zero point for all, and without VNNI saturate.
/// given: a finalized and filtered graph of the ops, which are in an order in which they can run. Reports each op of
/// this family that oneDNN fuses, by whom it is computed.
std::optional<graph_around_layers> take_layers(
        dnnl_graph_graph_t given, const std::vector<op_pointer> &ops, const graph_modes &modes);

/// oneDNN's partitions of a graph, or those around its layers, in an order in which they can run; of a layer its
/// Wildcard's.
struct partition_or_layer {
    onednn_partition handle;
    std::shared_ptr<const claimed> layer; // or null
};
std::vector<partition_or_layer> partitions_of(
        dnnl_graph_graph_t graph, const std::optional<graph_around_layers> &around);
size_t count_partitions(const graph_around_layers &g);

} // namespace dynquant::graph::core
