// The rescaling of a layer that was matched.
#pragma once

#include "layers/layer_rescale.hpp"
#include "model/match.hpp"
#include "model/stage.hpp"

namespace dynquant::models {

struct settings;

/// product_bias is added to each channel's sums besides the layer's own; it may be empty.
std::unique_ptr<const layers::layer_rescale> make_layer_rescale(const graph &g, const layer &l,
        const layers::layer_shape &shape, const std::vector<std::int32_t> &product_bias, const settings &s);

} // namespace dynquant::models
