// What a layer has as constants: weights, their parameters, the bias and the operands of post-ops. They are read and
// packed at the first run, and again when a run's buffers hold others.
#pragma once

#include "graph/layer/byte_side.hpp"
#include "graph/layer/layer_shapes.hpp"
#include "layers/epilogue/epilogue.hpp"
#include "layers/gemm/aligned_vector.hpp"
#include "layers/gemm/weights.hpp"
#include "layers/layer/layer.hpp"
#include "layers/layer/weight_only_layer.hpp"
#include "parallel/newest.hpp"
#include "targets/features.hpp"

namespace dynquant::graph::core {

/// What depends on the data of constant inputs: the layer of each matrix of weights.
struct binding {
    std::vector<std::byte> key; // the bytes of the inputs that are constants of layers
    const void *w = nullptr;    // null: weights are not kept
    struct part {
        layers::layer_description description;
        std::vector<layers::post_op_view> steps;            // of the description
        std::unique_ptr<const layers::packed_layer> packed; // null: not kept
        std::unique_ptr<const layers::layer> layer;         // likewise
        std::int64_t largest_w = 0;                         // |w - zero point|
        // A weight-only layer has these in place of the others but `steps`.
        std::optional<layers::weight_only_description> narrow;          // without data
        std::unique_ptr<const layers::weight_only_layer> packed_narrow; // null: not kept
        std::unique_ptr<const layers::weight_only_layer>
                given_narrow; // of few rows, whose data each run gives; or null
    };
    std::vector<part> parts; // for each matrix of weights
};

class constants {
  public:
    /// What it has to know of the other side: its shape in a layer, and the parameters of x.
    struct x_side {
        dims shape;
        bool is_signed;
        const side_parameters &parameters;
    };

    /// `s` and the parameters of x outlive it.
    constants(const layer_shapes &s, x_side x, std::string label, targets::features features);

    /// The binding of the constants that the buffers hold.
    std::shared_ptr<const binding> of(port_buffers buffers) const;
    /// Weights as they lie. copy: of those whose taps have several strides.
    layers::constant_weights weights_of(
            port_buffers buffers, std::int64_t matrix, layers::aligned_vector<std::byte> &copy) const;
    /// Narrow weights as the layer takes them. Those with strides of other orders are copied.
    const std::byte *narrow_weights_of(port_buffers buffers, std::int64_t matrix, std::vector<std::byte> &copy) const;
    bool weights_are_signed() const { return w_is_signed_; }

  private:
    class of_matrix;

    void add_to_key(const op_record &op, size_t input);
    bool has_key(const binding &b, port_buffers buffers) const;
    std::shared_ptr<const binding> bind(port_buffers buffers) const;
    /// by: describe() or describe_weight_only() of src/layers/match.
    template <typename Describe>
    auto describe(port_buffers buffers, std::int64_t matrix, const Describe &by) const;
    void bind_narrow(port_buffers buffers, std::int64_t matrix, binding::part &p) const;

    const layer_shapes &s_;
    x_side x_;
    side_parameters of_w_;
    std::int64_t per_matrix_; // indices of parameters
    std::string label_;
    targets::features features_;
    bool w_is_signed_;
    size_t w_;           // a port
    bool keeps_weights_; // packed, from one run to the next
    bool quantizes_x_;   // by kept weights that are in blocks
    struct keyed_port {
        size_t port, bytes;
    };
    std::vector<keyed_port> keyed_; // zps of w first, which weights are packed with
    size_t of_zero_points_ = 0;     // bytes, the first of a key
    mutable parallel::newest<binding, 4> bindings_;
};

} // namespace dynquant::graph::core
