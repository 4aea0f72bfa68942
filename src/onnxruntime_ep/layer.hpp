// A layer ready to run, for x of one shape. It knows nothing of ONNX Runtime.
#pragma once

#include <memory>

#include "layers/integer_convolution.hpp"
#include "layers/permute.hpp"
#include "layers/steps/steps.hpp"
#include "onnx/extremes.hpp"
#include "onnxruntime_ep/layer_match.hpp"
#include "parallel/pool.hpp"

namespace dynquant::onnxruntime_ep {

/// What a layer is made of, whatever the shape of x. A product is a convolution of one tap.
struct layer_problem {
    std::string label; // what messages call it
    bool is_convolution = false, quantizes_x = false, x_is_signed = false, has_x_zero_point = false, to_float = false;
    bool has_x_scale = false; // by which the factors of the first step are multiplied
    dims weights_shape;
    layers::window_attributes window;
    layers::integer_convolution convolution; // without what depends on the shape of x
    layers::packed_convolution packed;
    std::vector<layer_match::step> steps;
};

/// Throws error for what breaks ONNX's rules and needs no shapes.
layer_problem problem_of(const graph &g, const layer_match &m);

/// Immutable: many threads may run it at once.
class layer {
  public:
    /// The problem outlives it. Throws error for a shape that the weights do not fit.
    layer(const layer_problem &p, const dims &x);

    const dims &x() const { return x_; }
    const dims &y() const { return y_; }

    /// x: floats where the layer quantizes them, else bytes. y: floats or s32.
    void run(const void *x, std::int32_t x_zero_point, float x_scale, void *y) const;

  private:
    /// The memory of one run.
    struct workspace {
        std::vector<std::byte> x; // its bytes, channels last
        std::vector<float> factors;
        std::vector<layers::float_step> steps;
    };

    layers::integer_convolution plan_product();
    layers::integer_convolution plan_convolution();
    std::unique_ptr<workspace> make_workspace() const;
    void compute_steps(const workspace &w, const std::int32_t *sums, parallel::range positions,
            std::span<const std::int32_t> bias, float *y) const;

    const layer_problem &p_;
    dims x_, y_;
    std::int64_t images_ = 1, positions_ = 0, channels_ = 0; // of y: images of positions of channels
    std::unique_ptr<const layers::block_sums> sums_;         // null where y has no elements
    operation quantize_;                                     // of x
    bool permutes_ = false;
    layers::permutation to_channels_last_; // of x's bytes
    onnx::extremes_function extremes_;
    layers::float_steps_function steps_;
    mutable parallel::object_pool<workspace> idle_;
};

} // namespace dynquant::onnxruntime_ep
