// A node as ONNX Runtime describes it.
#pragma once

#include "onnxruntime/common/kernel.hpp"
#include "onnxruntime/domains/custom_op.hpp"

namespace dynquant::onnxruntime {

/// The node that a kernel is made for, without shapes.
onnx::node read_node(const custom_op &op, const OrtKernelInfo &info);

/// The places of that node's tensors, with its constants.
node_ports read_ports(const custom_op &op, const OrtKernelInfo &info, const onnx::node &n);

} // namespace dynquant::onnxruntime
