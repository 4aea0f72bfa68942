// ONNX Runtime's constant folding, where its standard operators are replaced.
#pragma once

#include <onnxruntime_c_api.h>

namespace dynquant::onnxruntime {

/// Has ONNX Runtime 1.18 and newer leave it out, beside the optimizers that the options leave out already. It looks for
/// a kernel of its own for a node of constants, and by the names that its own schemas give to types; that of a custom
/// operator has others ("Input0"), which it takes for an error of its own: no session would open.
/// (MatchKernelDefTypes in core/framework/kernel_registry.cc, CreateSchema in core/session/custom_ops.cc)
void leave_out_constant_folding(const OrtApi &api, OrtSessionOptions &options);

} // namespace dynquant::onnxruntime
