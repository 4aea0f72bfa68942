// How large a product's sums may become.
#pragma once

#include <span>

#include "layers/layer/layer.hpp"

namespace dynquant::models {

/// The largest magnitude of a layer's sums, with the bias if there is one, over all x of its type and zero point.
struct sum_bounds {
    std::int64_t of_any_weights, of_these_weights;
};

/// weights: of int8, all matrices if there are several.
sum_bounds bounds_of_sums(const layers::layer_description &d, std::span<const std::byte> weights);

} // namespace dynquant::models
