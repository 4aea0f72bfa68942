#include "layers/conv/integer_convolution.hpp"

#include "layers/conv/channels_first/channels_first.hpp"
#include "layers/conv/depthwise/depthwise.hpp"

namespace dynquant::layers {

packed_convolution pack_convolution(const integer_convolution &p, const constant_weights &w) {
    auto other = pack_depthwise_convolution(p, w);
    if (!other) other = pack_im2col_convolution(p, w);
    auto planar = pack_planar_convolution(p, w);
    if (!planar) return other;
    return [other, planar](const integer_convolution &of_shape) { // twice the memory of weights that are few
        return planar_is_faster(of_shape) ? planar(of_shape) : other(of_shape);
    };
}

} // namespace dynquant::layers
