// The second part of a layer, from s32 sums to 8 bits: bias, multipliers, ReLU, rounding, and an activation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dynquant/quantization.hpp"
#include "layers/lookup/lookup.hpp"

namespace dynquant::layers {

/// The shape of a layer's sums, which are channels last, and the layout of its results.
struct layer_shape {
    std::int64_t batch, spatial, channels;
    bool y_is_channels_last; // else channels are the second dimension
};

/// Each vector has one element, or one per channel. bias and second may be empty: no bias, no second multiplier.
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

    /// Whether the two multipliers are folded into one, with identical results.
    virtual bool is_folded() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    virtual void run(const std::int32_t *sums, std::uint8_t *y, std::byte *scratch) const = 0;
};

/// The statement of a rescaling to s8 or u8, with dims batch, spatial, channels.
quantization requantize_statement(const rescale_parameters &p, const layer_shape &shape, data_type to);

/// A table that is applied to each result of a rescaling.
struct activation {
    lookup::look_up_function look_up;
    lookup::table values;
    int threads; // 0: the concurrency of the caller's arena
};

/// Rescales by an operation prepared for requantize_statement(), then applies the activation, if any, to all `count`
/// elements.
std::unique_ptr<const layer_rescale> make_requantize_rescale(
        operation requantize, std::int64_t count, const std::optional<activation> &then);

} // namespace dynquant::layers
