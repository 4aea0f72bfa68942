#include "layers/conv/integer_convolution.hpp"

#include "layers/conv/channels_first/channels_first.hpp"
#include "layers/conv/cost.hpp"
#include "layers/conv/depthwise/depthwise.hpp"

namespace dynquant::layers {

convolution_factory pack_convolution(const integer_convolution &p, const constant_weights &w) {
    using enum algorithm;
    if (p.only == im2col) return pack_im2col_convolution(p, w);
    if (p.only == channels_first)
        return pack_channels_first_convolution(p, *targets::pick(p.available, channels_first_table), w);
    auto other = pack_depthwise_convolution(p, w);
    const bool is_depthwise = other != nullptr;
    if (!is_depthwise) other = pack_im2col_convolution(p, w);
    if (p.only) return other;
    auto by_positions = pack_channels_first_convolution(p, w);
    if (!by_positions) return other;
    return [=](const integer_convolution &of_shape) { // twice the memory of weights that are few
        const auto of_other = cost_of(is_depthwise ? depthwise : im2col, of_shape);
        return cost_of(channels_first, of_shape) < of_other ? by_positions(of_shape) : other(of_shape);
    };
}

} // namespace dynquant::layers
