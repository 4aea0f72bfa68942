// A fused node of a session: what ONNX Runtime runs in place of nodes that were claimed together.
#pragma once

#include <onnxruntime_c_api.h>

namespace dynquant::onnxruntime {

class fused_node {
  public:
    virtual ~fused_node() = default;

    /// Runs on the session's threads. Throws error. Thread safe.
    virtual void compute(OrtKernelContext &context) = 0;
};

} // namespace dynquant::onnxruntime
