// The layers of a float model: a product with its bias and activation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dynquant::models {

/// Y = W X + B (equation 2), and an activation.
struct float_layer {
    const node *product = nullptr;    // Gemm, MatMul or Conv
    const node *activation = nullptr; // Relu, Tanh or Sigmoid, or null
    std::string x, sum, y;            // names of values; sum is y where there is no activation
    dims weight_shape;                // of Gemm and MatMul [k, n], of Conv as in ONNX
    std::vector<float> weights;
    std::vector<float> bias; // one per output channel, or empty
    std::int64_t channels = 0;
    int rank = 0; // of y

    bool is_convolution() const { return product->op_type == "Conv"; }
    bool ends_with(const char *op_type) const { return activation && activation->op_type == op_type; }
    /// The output channel of a weight.
    std::int64_t channel_of(std::int64_t weight) const;
};

/// A layer, or a node that keeps scales: Flatten, Reshape, Transpose or MaxPool.
struct float_step {
    std::optional<float_layer> layer;
    const node *pass_through = nullptr;
};

/// Throws error for operators that cannot be codified. The message names all of them.
void check_codified_operators(const graph &g);

/// Splits the graph into steps, in order. Throws error, naming the node, for one that fits no step. Precondition:
/// infer(g).
std::vector<float_step> steps_of(const graph &g);

} // namespace dynquant::models
