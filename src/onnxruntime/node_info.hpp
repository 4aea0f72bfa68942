// A node as ONNX Runtime describes it.
#pragma once

#include "layers/match/graph.hpp"
#include "onnxruntime/custom_op.hpp"
#include "onnxruntime/kernel.hpp"

namespace dynquant::onnxruntime {

/// Whether an optional input is given.
bool has_input(const OrtApi &api, const OrtKernelInfo &info, std::size_t index);

/// An input that is part of the model, the same tensor for as long as the session lives; else nullptr.
const OrtValue *find_constant(const OrtApi &api, const OrtKernelInfo &info, std::size_t index);

/// The node that a kernel is made for, without shapes.
onnx::node read_node(const custom_op &op, const OrtKernelInfo &info);

/// Where the tensors of that node are, with its constants.
node_ports read_ports(const custom_op &op, const OrtKernelInfo &info, const onnx::node &n);

/// A node of ConvInteger as a graph: value i is its input i, of a known type; none is known. Throws error for
/// attributes of other types.
layers::match::graph read_convolution(const custom_op &op, const OrtKernelInfo &info);

} // namespace dynquant::onnxruntime
