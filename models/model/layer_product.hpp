// The product that a layer begins with.
#pragma once

#include <memory>

#include "layers/integer_sums.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// Its channels are the last dimension, whatever the graph says. x_is_channels_last: of a convolution, whether the
/// channels of x are its last dimension, unlike what the graph says. The output has elements.
std::unique_ptr<const layers::integer_sums> make_layer_product(
        const op_node &n, bool x_is_channels_last, const settings &s);

/// How large the sums of a product may become, with the bias if there is one, by the type and the zero point of x.
struct sum_bounds {
    std::int64_t of_any_weights, of_these_weights;
};
sum_bounds bounds_of_sums(const op_node &n, const tensor *bias);

} // namespace dynquant::models
