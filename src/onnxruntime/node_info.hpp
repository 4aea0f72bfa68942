// A node as ONNX Runtime describes it.
#pragma once

#include "onnxruntime/custom_op.hpp"

namespace dynquant::onnxruntime {

/// The node that a kernel is made for, without shapes.
onnx::node read_node(const custom_op &op, const OrtKernelInfo &info);

} // namespace dynquant::onnxruntime
