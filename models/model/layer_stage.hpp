// The stage of a layer, or of a product of integers alone.
#pragma once

#include "layers/layer.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// MatMulInteger or ConvInteger alone, with sums of s32 as its result.
layers::layer_description describe_product(const op_node &n, const settings &s);

/// A stage whose inputs are the product's x and, where the description has one, x_scale.
struct layer_stage {
    std::unique_ptr<const stage> work;
    bool is_folded; // two multipliers into one
};

/// d: describe_product(n), with what else the layer computes.
layer_stage make_layer_stage(const op_node &n, const layers::layer_description &d);

} // namespace dynquant::models
