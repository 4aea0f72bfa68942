// Convolutions with constant int8 weights, as ConvInteger defines them: exact, in s32, which wraps. Channels last.
#pragma once

#include <memory>
#include <vector>

#include "layers/integer_sums.hpp"
#include "layers/window.hpp"

namespace dynquant::layers {

/// x is batch, spatial dimensions, channels; so is y.
struct integer_convolution {
    bool x_is_signed = false; // s8, else u8
    std::int64_t batch = 0, groups = 1, channels = 0, filters = 0;
    window over = {};
    std::int32_t x_zero_point = 0;                // of the padding, too
    std::vector<std::int32_t> w_zero_points = {}; // none, one, or one for each filter
};

/// w is filters, channels of a group, window; it is copied.
std::unique_ptr<const integer_sums> make_convolution(const integer_convolution &p, const std::int8_t *w);

/// As products of gathered windows.
std::unique_ptr<const integer_sums> gathered_convolution(const integer_convolution &p, const std::int8_t *w);

/// Weights as a product takes them, one group after another: taps, channels, filters.
std::vector<std::int8_t> product_weights(const integer_convolution &p, const std::int8_t *w);

} // namespace dynquant::layers
