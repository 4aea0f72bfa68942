// Which nodes of a graph are a layer: a product of integers, or of floats by quantized weights, and its post-ops.
#pragma once

#include <functional>
#include <span>

#include "layers/layer/layer.hpp"
#include "layers/match/graph.hpp"
#include "layers/match/weight_only_weights.hpp"

namespace dynquant::layers::match {

/// Consecutive nodes, and what a layer has of them.
struct layer_part {
    std::vector<std::size_t> nodes = {}; // of a whole layer in the order of the graph
    std::size_t y = none;                // the value that the last one gives
    std::vector<std::int32_t> bias = {}; // as a layer_description has it, and so are the post-ops
    std::vector<post_op> post_ops = {};
    std::size_t x_scale = none; // of the post-op `scale`
    std::size_t tensor = none;  // of the post-op `add_tensor`
    std::optional<layers::normalization> normalization = {};
    std::size_t before = none; // what it normalizes, where others take that, too
    std::string end = {};      // why a layer goes no further: "value 'y' is an output of the graph"
};

/// DynamicQuantizeLinear (where nobody else takes its results; of the domain `dynquant` with a scale for each row),
/// ConvInteger or MatMulInteger with constant weights, and then, each optional and in this order: Add of integers, Cast
/// to float, Mul by scales, and any number of Add, Sub, Mul, Div, Relu, Clip, LeakyRelu, PRelu, HardSigmoid, Erf, Tanh,
/// Sigmoid and Pow to 2 or 3 by constants, one for all or one for each channel. A function of a value, in these
/// operators, that adds the value or multiplies by it, perhaps times one constant, here and there and at its end,
/// belongs to them: x * Clip(x + 3) / 6, or HardSwish; x * Sigmoid(alpha x), or Swish; 0.5 x * (1 + Erf(x / sqrt(2))),
/// or Gelu, also by Tanh of a polynomial. One Add may be of a tensor that broadcasts to the sums, where its reader says
/// that it is a summand. Last, QuantizeLinear to 8 bits, and an activation as a table, where the caller makes tables;
/// or, of a product, LayerNormalization or RMSNormalization of its columns, also with an Add in one node. Or a
/// weight-only layer: DequantizeLinear of constant weights, perhaps to float16 with a Cast behind it, and perhaps
/// Transpose and Reshape that make a matrix of them, MatMul, Gemm or Conv of floats, and such operators of floats. Or
/// MatMulNBits with constant weights, and such operators; of float16 it alone.
struct layer_match : layer_part {
    std::size_t product = none;
    std::size_t quantize = none; // DynamicQuantizeLinear
    weights_view weights = {};   // of a weight-only layer
    /// The value that the layer takes: f32 where it has `quantize` or `weights`, or of the latter f16, else of 8 bits.
    std::size_t x = none;
    std::size_t x_zero_point = none;
    /// x has a scale and a zero point for each row, of a convolution each image: where what quantizes it says so, or
    /// where the caller wants it and find_row_scales() allows it.
    bool scales_by_row = false;
    bool x_has_heads = false, y_heads_are_transposed = false; // of take_heads(), as a layer_description has them
    std::int64_t y_heads = 0;
    result_type result = result_type::s32;
    std::optional<lookup::table> table = {};

    bool is_weight_only() const { return weights.are_found(); }
};

/// Either a layer, or why the product is none.
struct match_result {
    std::optional<layer_match> found;
    std::string reason = {}; // "its weights 'w' are no constant"
};

/// Tanh or Sigmoid between a DequantizeLinear and a QuantizeLinear, or in float16, as a table: element i is what the
/// nodes, a chain to 8 bits, make of the value of type `from` with bits i. It has 256 or 65536 elements.
using table_maker = std::function<std::vector<std::uint8_t>(std::span<const std::size_t> nodes, data_type from)>;

/// ConvInteger or MatMulInteger. MatMulInteger may be of the domain `dynquant`, where it means the same.
bool is_product(const node &n);

/// Whether the weights of an integer product, which are constant, are a stack of matrices. Then a layer is one for each
/// matrix, and adds no tensor.
bool has_several_matrices(const graph &g, const node &product);

/// is_taken: for each node, whether another layer has it. On a graph of the found nodes alone it finds the same layer.
/// tabulate makes tables of activations, and the layer ends before other Tanh and Sigmoid, which such a caller computes
/// itself. Without it they are post-ops in f32, and the layer ends before them in float16 and behind bytes.
match_result find_layer(
        const graph &g, std::size_t product, const std::vector<bool> &is_taken, const table_maker &tabulate = {});

/// Adds to a layer the Transpose and the Reshape that join the heads of x, before what quantizes x, and those that
/// split y into heads: y of shape [batch, rows, columns] becomes [batch, heads, rows, size] or [batch, heads, size,
/// rows], x is such a tensor as the former. Only where nothing else takes what is in between, and the shapes that
/// Reshape has are constant.
void take_heads(const graph &g, layer_match &m, const std::vector<bool> &is_taken);

/// For each node the index of the layer that has it, or none.
std::vector<std::size_t> layers_by_node(const graph &g, std::span<const layer_match> layers);

/// The layers that read what a node quantizes x to.
struct row_scales {
    std::vector<std::size_t> layers; // indices
    std::string reason = {};         // why x must keep one scale; "" where each row may have its own
};
/// by_node: layers_by_node() of them.
row_scales find_row_scales(const graph &g, std::size_t quantize, std::span<const layer_match> layers,
        std::span<const std::size_t> by_node);

} // namespace dynquant::layers::match
