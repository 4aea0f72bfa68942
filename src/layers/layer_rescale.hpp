// What a layer does with the sums of its product: bias, multipliers, ReLU, rounding to 8 bits, and an activation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dynquant/quantization.hpp"
#include "layers/lookup/lookup.hpp"

namespace dynquant::layers {

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

/// The statement of a rescaling to s8 or u8; its dims are batch, spatial, channels.
quantization requantize_statement(const rescale_parameters &p, const layer_shape &shape, data_type to);

/// An activation: what becomes of each result of a rescaling.
struct activation {
    lookup::look_up_function look_up;
    lookup::table values;
    int threads; // 0: as many as there are
};

/// To 8 bits by an operation prepared for requantize_statement(), and by the activation, if there is one, of so many
/// elements.
std::unique_ptr<const layer_rescale> by_requantize(
        operation requantize, std::int64_t count, const std::optional<activation> &then);

} // namespace dynquant::layers
