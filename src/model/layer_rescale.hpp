// What a layer does with the sums of its product: bias, multipliers, ReLU, rounding to 8 bits, and an activation.
#pragma once

#include "model/match.hpp"
#include "model/stage.hpp"

namespace dynquant::models {

struct settings;

/// The sums of a layer, channels last, and where its results go.
struct layer_shape {
    std::int64_t batch, spatial, channels;
    bool y_is_channels_last; // else channels are the second dimension
};

/// One element each, or one for each channel. None of bias and of second multipliers where they are left out.
struct rescale_parameters {
    std::vector<std::int32_t> bias;
    std::vector<float> first, second;
    bool relu;
};

class layer_rescale {
  public:
    layer_rescale() = default;
    layer_rescale(const layer_rescale &) = delete;
    layer_rescale &operator=(const layer_rescale &) = delete;
    virtual ~layer_rescale() = default;

    /// Whether one multiplication does for two, with the same results.
    virtual bool is_folded() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    virtual void run(const std::int32_t *sums, std::uint8_t *y, std::byte *scratch) const = 0;
};

/// product_bias is added to each channel's sums besides the layer's own; it may be empty.
std::unique_ptr<const layer_rescale> make_layer_rescale(const graph &g, const layer &l, const layer_shape &shape,
        const std::vector<std::int32_t> &product_bias, const settings &s);

} // namespace dynquant::models
