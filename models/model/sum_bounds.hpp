// How large a product's sums may become.
#pragma once

#include "model/op_node.hpp"

namespace dynquant::models {

/// The largest magnitude of a product's sums, with the bias if there is one, over all x of its type and zero point.
struct sum_bounds {
    std::int64_t of_any_weights, of_these_weights;
};
sum_bounds bounds_of_sums(const op_node &n, const std::vector<std::int32_t> &bias);

} // namespace dynquant::models
