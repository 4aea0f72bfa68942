// What runs in place of nodes that were claimed, their inputs and outputs in ONNX Runtime.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>
#include <vector>

#include "layers/layer/weight_only_layer.hpp"
#include "layers/match/matcher.hpp"
#include "onnxruntime/provider/read_graph.hpp"
#include "onnxruntime/provider/summand.hpp"
#include "parallel/pool.hpp"

namespace dynquant::onnxruntime {

struct compile_arguments {
    const OrtApi &api;
    const graph &g;                           // that was matched, with the present addresses of constants
    std::vector<std::string> inputs, outputs; // the fused node's, in order
    int threads;                              // as session_threads takes it
    bool &freed; // whether weights of the session were freed since memory was given back to the system
};

class fused_node : public OrtNodeComputeInfo {
  public:
    explicit fused_node(const compile_arguments &a);
    virtual ~fused_node() = default;

  protected:
    const OrtApi &api_;

  private:
    /// On the session's threads. Throws error. Thread safe.
    virtual void compute(OrtKernelContext &context) = 0;

    int threads_;
    bool &freed_;
};

// Each prepares at once where the shapes are known, so that an invalid node is refused when the session is created, and
// throws error.

/// A single node: QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear. Constants are among the inputs.
std::unique_ptr<fused_node> compile_node(const compile_arguments &a, const node &n);

std::unique_ptr<fused_node> compile_layer(const compile_arguments &a, const layers::match::layer_match &m);

/// A layer whose weights are several matrices.
std::unique_ptr<fused_node> compile_stack(const compile_arguments &a, const layers::match::layer_match &m);

/// Several layers of one x, which is quantized once.
std::unique_ptr<fused_node> compile_group(
        const compile_arguments &a, const std::vector<layers::match::layer_match> &matches);

/// Layers each of which takes what the one before it gives, and nothing else of a run.
std::unique_ptr<fused_node> compile_chain(
        const compile_arguments &a, const std::vector<layers::match::layer_match> &matches);

struct weight_only_memory {
    layers::weight_only_layer::memory of_layer;
    repeated_operands repeated;
    std::vector<float> x, y; // where those of the run are f16
};

/// A session has one: its layers run one after another, mostly.
using weight_only_workspace_pool = parallel::object_pool<weight_only_memory>;

std::unique_ptr<fused_node> compile_weight_only(const compile_arguments &a, const layers::match::layer_match &m,
        std::shared_ptr<weight_only_workspace_pool> memory);

/// The node as src/onnx takes it, without shapes.
onnx::node onnx_node(const graph &g, const node &n);

} // namespace dynquant::onnxruntime
