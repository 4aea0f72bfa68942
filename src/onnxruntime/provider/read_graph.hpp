// Reads a session's graph.
#pragma once

#include <onnxruntime_c_api.h>

#include <string>
#include <vector>

#include "dynquant/onnx.hpp"
#include "layers/match/graph.hpp"
#include "onnxruntime/provider/session_initializers.hpp"

namespace dynquant::onnxruntime {

using layers::match::graph, layers::match::node, layers::match::none, layers::match::op, layers::match::value;

struct session_graph {
    graph view;
    std::vector<const OrtNode *> handles; // of the view's nodes
};

/// Tells a scalar from a tensor of unknown rank, which both have no dimensions: TensorTypeAndShape_HasShape. Null
/// before ONNX Runtime 1.24.
using has_shape_function = bool (*)(const OrtTensorTypeAndShapeInfo *);

/// The nodes of a graph, without those of its subgraphs, each of which is a graph of its own to ONNX Runtime. Where it
/// does not tell scalars, they are constants without dimensions, and the scale and the zero point of a
/// DynamicQuantizeLinear. The ranks of others then count as unknown.
session_graph read_graph(
        const OrtApi &api, has_shape_function has_shape, const OrtGraph &from, session_initializers &initializers);

/// 'name' (type), in one line. Quotes and backslashes of the name stand behind a backslash.
std::string describe(const node &n);

/// The names of a node's inputs, or of its outputs, in order; "" for one that is left out.
std::vector<std::string> input_names(const OrtApi &api, const OrtNode &n);
std::vector<std::string> output_names(const OrtApi &api, const OrtNode &n);

/// The index of a value among the names of a fused node's inputs or outputs. Throws error where it is none of them.
std::size_t index_of(const graph &g, std::size_t value, const std::vector<std::string> &names);

/// ONNX's number of a value's type; 0 where the graph has none.
onnx::element_type type_of(const value &v);

} // namespace dynquant::onnxruntime
