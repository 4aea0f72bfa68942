// Which nodes of a graph are a layer: a product of integers and what rescales its sums.
#pragma once

#include "layers/layer.hpp"
#include "onnxruntime_ep/read_graph.hpp"

namespace dynquant::onnxruntime_ep {

/// DynamicQuantizeLinear (where nobody else takes its results), ConvInteger or MatMulInteger with constant weights, and
/// then, each optional and in this order: Cast to float, Mul by scales, and any number of Add, Sub, Mul, Div, Relu,
/// Clip, LeakyRelu and HardSigmoid by constants, one for all or one for each channel. A value times a function of it,
/// in these operators, belongs to them: x * Clip(x + 3) / 6, or HardSwish. Last, QuantizeLinear to 8 bits.
struct layer_match {
    std::vector<std::size_t> nodes; // in the order of the graph
    std::size_t product = none;
    std::size_t quantize = none; // DynamicQuantizeLinear
    std::size_t x = none;        // the value that the layer takes: of floats where it has `quantize`, else of 8 bits
    std::size_t x_zero_point = none;
    std::size_t x_scale = none; // by which the factors of the first step are multiplied
    std::size_t y = none;
    layers::step_result result = layers::step_result::s32;
    std::vector<layers::step> steps = {};
};

/// Either a layer, or why the product is none.
struct match_result {
    std::optional<layer_match> found;
    std::string reason = {}; // "the weights are no constant"
};

bool is_product(const node &n);

/// is_taken: for each node, whether another layer has it.
match_result match_layer(const graph &g, std::size_t product, const std::vector<bool> &is_taken);

} // namespace dynquant::onnxruntime_ep
