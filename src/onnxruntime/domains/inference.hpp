// Types and shapes of the outputs, before there is a kernel.
#pragma once

#include "onnxruntime/domains/custom_op.hpp"

namespace dynquant::onnxruntime {

/// Sets types and shapes of a node's outputs. `op` need not have the types of the node: ONNX Runtime asks the first
/// operator with the name.
void infer_outputs(const custom_op &op, OrtShapeInferContext &context);

} // namespace dynquant::onnxruntime
