// The product that a layer begins with.
#pragma once

#include <memory>
#include <vector>

#include "model/op_node.hpp"

namespace dynquant::models {

/// Sums of s32 whose channels are the last dimension, whatever the graph says. Immutable.
class layer_product {
  public:
    layer_product() = default;
    layer_product(const layer_product &) = delete;
    layer_product &operator=(const layer_product &) = delete;
    virtual ~layer_product() = default;

    /// What is to be added to the sums of each channel, wrapping; none where that is nothing.
    virtual const std::vector<std::int32_t> &bias() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    virtual void run(const void *x, std::int32_t *y, std::byte *scratch) const = 0;
};

/// x_is_channels_last: of a convolution, whether the channels of x are its last dimension, unlike what the graph says.
/// The output has elements.
std::unique_ptr<const layer_product> make_layer_product(const op_node &n, bool x_is_channels_last, const settings &s);

/// How large the sums of a product may become, with the bias if there is one, by the type and the zero point of x.
struct sum_bounds {
    std::int64_t of_any_weights, of_these_weights;
};
sum_bounds bounds_of_sums(const op_node &n, const tensor *bias);

} // namespace dynquant::models
