// src/onnx_layers: a product of integers with what surrounds it in a model of ONNX, as one layer: x is quantized, or
// comes as bytes; its products by constant weights are summed; the sums become floats, which pass some operators. Both
// libraries for ONNX Runtime build on it. May include: dynquant's public headers, parallel, quantization, layers, onnx,
// kernels/kernels.hpp. Start here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dynquant/onnx.hpp"
#include "layers/integer_convolution.hpp"
#include "layers/permute.hpp"
#include "layers/steps/steps.hpp"
#include "parallel/pool.hpp"

namespace dynquant::onnx_layers {

/// A step with parameters of its own.
struct step {
    layers::float_step::kind what;
    std::vector<float> a = {}, b = {};
};

/// What a layer is made of, whatever the shape of x.
struct layer_description {
    std::string label;           // what messages call it
    bool is_convolution = false; // ConvInteger, else MatMulInteger
    bool quantizes_x = false, x_is_signed = false, has_x_zero_point = false;
    layers::step_result result = layers::step_result::s32; // bytes: the last step is saturate
    bool has_x_scale = false;                              // by which the factors of the first step are multiplied
    onnx::element_type weights_type = 0;                   // int8 or uint8
    dims weights_shape;                                    // of ConvInteger: rank 3 or more; of MatMulInteger: rank 2
    std::vector<std::int32_t> w_zero_points;               // none, one, or one for each channel
    std::int64_t groups = 1;
    layers::window_attributes window;
    std::vector<step> steps;
};

/// A description whose weights are packed. A product is a convolution of one tap.
class layer_problem {
  public:
    /// Copies the weights. Throws error for what breaks ONNX's rules and needs no shape of x.
    layer_problem(layer_description given, const std::byte *weights);

    const layer_description &description() const { return description_; }
    const layers::integer_convolution &convolution() const { return convolution_; }
    const layers::packed_convolution &packed() const { return packed_; }

  private:
    std::vector<std::int8_t> int8_weights(const std::byte *given);

    layer_description description_;
    layers::integer_convolution convolution_; // without what depends on the shape of x
    layers::packed_convolution packed_;
};

/// Immutable: many threads may run it at once.
class layer {
  public:
    /// The problem outlives it. Throws error for a shape that the weights do not fit.
    layer(const layer_problem &p, const dims &x);

    const dims &x() const { return x_; }
    const dims &y() const { return y_; }

    /// x: floats where the layer quantizes them, else bytes. y: as the description's result.
    void run(const void *x, std::int32_t x_zero_point, float x_scale, void *y) const;

  private:
    /// The memory of one run.
    struct workspace {
        std::vector<std::byte> x; // its bytes, channels last
        std::vector<float> factors;
        std::vector<layers::float_step> steps;
    };

    layers::integer_convolution plan_product(const layers::integer_convolution &problem);
    layers::integer_convolution plan_convolution(const layers::integer_convolution &problem);
    std::unique_ptr<workspace> make_workspace() const;
    void compute_steps(const workspace &w, const std::int32_t *sums, parallel::range positions,
            std::span<const std::int32_t> bias, void *y) const;

    const layer_description &d_;
    dims x_, y_;
    std::int64_t images_ = 1, positions_ = 0, channels_ = 0; // of a y with elements: images of positions of channels
    std::unique_ptr<const layers::block_sums> sums_;         // null where y has no elements
    operation quantize_;                                     // of x
    bool permutes_ = false;
    layers::permutation to_channels_last_; // of x's bytes
    layers::float_steps_function steps_;
    mutable parallel::object_pool<workspace> idle_;
};

} // namespace dynquant::onnx_layers
