// Disables ONNX Runtime's constant folding where its standard operators are replaced.
#pragma once

#include <onnxruntime_c_api.h>

namespace dynquant::onnxruntime {

/// Adds ConstantFolding to the optimizers that the options disable; ONNX Runtime 1.18 and newer obey. For a node of
/// constants it looks up a kernel by the names that the standard schemas give to types. A custom operator's schema has
/// other names ("Input0"), which ONNX Runtime reports as an internal error, so that no session would open.
/// (MatchKernelDefTypes in core/framework/kernel_registry.cc, CreateSchema in core/session/custom_ops.cc)
void disable_constant_folding(const OrtApi &api, OrtSessionOptions &options);

} // namespace dynquant::onnxruntime
