// The layers of a float model: a product with what belongs to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dynquant::models {

/// Equation 2, Y = W X + B, and an activation.
struct float_layer {
    const node *product = nullptr;    // Gemm, MatMul or Conv
    const node *activation = nullptr; // Relu, Tanh or Sigmoid, or none
    std::string x, sum, y;            // names of values; sum is y where there is no activation
    dims weight_shape;                // of MatMul [k, n], of Conv as the node has it
    std::vector<float> weights;
    std::vector<float> bias; // one for each output channel, or none
    std::int64_t channels = 0;
    int rank = 0; // of y

    bool is_convolution() const { return product->op_type == "Conv"; }
    bool ends_with(const char *op_type) const { return activation && activation->op_type == op_type; }
    /// The output channel of a weight.
    std::int64_t channel_of(std::int64_t weight) const;
};

/// A node that is a layer of its own, or one that hands elements on as they are, in other places or fewer.
struct float_step {
    std::optional<float_layer> layer;
    const node *passing = nullptr;
};

/// Throws error for operators that no step has, naming all of them.
void check_codified_operators(const graph &g);

/// All of the graph in order. Throws error for a node that is neither, naming it. value_types must be known.
std::vector<float_step> steps_of(const graph &g);

} // namespace dynquant::models
