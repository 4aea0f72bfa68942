// The stage of a layer, or of a product of integers alone.
#pragma once

#include "layers/layer/layer.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// A stage whose inputs are the product's x and, where the description has one, x_scale.
struct layer_stage {
    stage work;
    bool is_folded; // two multipliers into one
};

/// d: of the layer whose product is n.
layer_stage make_layer_stage(const op_node &n, const layers::layer_description &d, const options &opts);

} // namespace dynquant::models
