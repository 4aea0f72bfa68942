// A single node that was claimed: QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear.
#pragma once

#include "onnxruntime/common/kernel.hpp"
#include "onnxruntime/provider/fused_node.hpp"
#include "onnxruntime/provider/read_graph.hpp"

namespace dynquant::onnxruntime {

class compiled_node : public fused_node {
  public:
    /// inputs, outputs: the names of the fused node's, in order. Constants are among the inputs. Prepares at once where
    /// all shapes are known, so that an invalid node is refused when the session is created. Throws error.
    compiled_node(const OrtApi &api, const graph &g, const node &n, const std::vector<std::string> &inputs,
            const std::vector<std::string> &outputs, int threads);

    void compute(OrtKernelContext &context) override { kernel_.compute(context); }

  private:
    kernel kernel_;
};

} // namespace dynquant::onnxruntime
