// The rescaling of a matched layer.
#pragma once

#include "layers/layer_rescale.hpp"
#include "model/match.hpp"
#include "model/stage.hpp"

namespace dynquant::models {

struct settings;

/// product_bias is integer_sums::bias() of the product; it is added to the sums with the layer's bias. May be empty.
std::unique_ptr<const layers::layer_rescale> make_layer_rescale(const graph &g, const layer &l,
        const layers::layer_shape &shape, const std::vector<std::int32_t> &product_bias, const settings &s);

} // namespace dynquant::models
