// The product of a matched layer.
#pragma once

#include <memory>

#include "layers/integer_sums.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// Makes the product of node n. The sums are channels last. x_is_channels_last: the layout of a convolution's x in
/// memory; its ONNX shape is channels first. Precondition: the output is not empty.
std::unique_ptr<const layers::integer_sums> make_layer_product(
        const op_node &n, bool x_is_channels_last, const settings &s);

/// The largest magnitude of a product's sums, with the bias if there is one, over all x of its type and zero point.
struct sum_bounds {
    std::int64_t of_any_weights, of_these_weights;
};
sum_bounds bounds_of_sums(const op_node &n, const tensor *bias);

} // namespace dynquant::models
