// Layers that were claimed, their inputs and outputs in ONNX Runtime.
#pragma once

#include "layers/match/matcher.hpp"
#include "onnxruntime/common/newest.hpp"
#include "onnxruntime/provider/fused_node.hpp"
#include "onnxruntime/provider/read_graph.hpp"
#include "parallel/pool.hpp"

namespace dynquant::onnxruntime {

class compiled_layer : public fused_node {
  public:
    /// inputs: the names of the fused node's, in order. Prepares at once where the shape of x is known, so that an
    /// invalid node is refused when the session is created. Throws error.
    compiled_layer(const OrtApi &api, const graph &g, const layers::match::layer_match &m,
            const std::vector<std::string> &inputs, int threads);

    void compute(OrtKernelContext &context) override;

  private:
    std::int32_t read_x_zero_point(const OrtKernelContext &context) const;
    float read_x_scale(const OrtKernelContext &context) const;
    const void *scalar_data(const OrtKernelContext &context, std::size_t index) const;
    std::shared_ptr<const layers::layer> make_layer(const dims &x) const;

    const OrtApi &api_;
    int threads_;
    layers::layer_problem problem_;
    std::size_t x_input_ = none, x_zero_point_input_ = none, x_scale_input_ = none; // none: known, or no input
    float x_scale_ = 1;
    newest<layers::layer> layers_; // by the shape of x
    parallel::object_pool<layers::run_memory> idle_;
};

/// Several layers of one x, which is quantized once, with a scale for each row.
class compiled_layers : public fused_node {
  public:
    /// outputs: the names of the fused node's, in order. Throws error.
    compiled_layers(const OrtApi &api, const graph &g, const std::vector<layers::match::layer_match> &matches,
            const std::vector<std::string> &inputs, const std::vector<std::string> &outputs, int threads);

    void compute(OrtKernelContext &context) override;

  private:
    struct part {
        layers::layer_problem problem;
        std::size_t output;
    };
    /// What is prepared for one shape of x.
    struct prepared {
        prepared(const std::vector<part> &parts, const dims &of);
        static std::vector<std::unique_ptr<const layers::layer>> layers_of(
                const std::vector<part> &parts, const dims &x);
        dims x;
        std::vector<std::unique_ptr<const layers::layer>> layers; // in the order of the parts
        layers::x_quantizer quantizer;
    };
    struct memory {
        layers::quantized_x x;
        layers::run_memory of_layers;
    };
    std::shared_ptr<const prepared> prepare(const dims &x) const;

    const OrtApi &api_;
    int threads_;
    std::vector<part> parts_;
    std::size_t x_input_ = none;
    newest<prepared> prepared_;
    parallel::object_pool<memory> idle_;
};

} // namespace dynquant::onnxruntime
