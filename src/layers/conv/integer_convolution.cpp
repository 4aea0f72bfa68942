#include "layers/conv/integer_convolution.hpp"

#include "layers/conv/channels_first/channels_first.hpp"
#include "layers/conv/depthwise/depthwise.hpp"

namespace dynquant::layers {

convolution_factory pack_convolution(const integer_convolution &p, const constant_weights &w) {
    auto other = pack_depthwise_convolution(p, w);
    if (!other) other = pack_im2col_convolution(p, w);
    auto channels_first = pack_channels_first_convolution(p, w);
    if (!channels_first) return other;
    return [other, channels_first](const integer_convolution &of_shape) { // twice the memory of weights that are few
        return channels_first_is_faster(of_shape) ? channels_first(of_shape) : other(of_shape);
    };
}

} // namespace dynquant::layers
