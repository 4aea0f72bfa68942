// A layer of floats by narrow weights that was claimed, its input and output in ONNX Runtime.
#pragma once

#include "layers/match/matcher.hpp"
#include "layers/narrow/narrow_layer.hpp"
#include "onnxruntime/provider/fused_node.hpp"
#include "onnxruntime/provider/read_graph.hpp"
#include "parallel/pool.hpp"

namespace dynquant::onnxruntime {

/// Of a session: its layers run one after another, mostly.
using narrow_memory_pool = parallel::object_pool<layers::narrow_layer::memory>;

class compiled_narrow : public fused_node {
  public:
    /// inputs: the names of the fused node's, in order. Throws error.
    compiled_narrow(const OrtApi &api, const graph &g, const layers::match::layer_match &m,
            const std::vector<std::string> &inputs, int threads, std::shared_ptr<narrow_memory_pool> memory);

    void compute(OrtKernelContext &context) override;

  private:
    const OrtApi &api_;
    int threads_;
    layers::narrow_layer layer_;
    std::size_t x_input_;
    std::shared_ptr<narrow_memory_pool> idle_;
};

} // namespace dynquant::onnxruntime
