// Types and shapes of the outputs, before there is a kernel.
#pragma once

#include "onnxruntime/custom_op.hpp"

namespace dynquant::onnxruntime {

/// Says what the outputs of a node will be. The operator is any of its name: ONNX Runtime asks the first one, whatever
/// the types of the node.
void infer_outputs(const custom_op &op, OrtShapeInferContext &context);

} // namespace dynquant::onnxruntime
