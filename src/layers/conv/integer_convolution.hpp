// Convolutions with constant weights of 8 bits, as ONNX's ConvInteger defines them: exact, in s32, which wraps.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "layers/conv/accumulator_source.hpp"
#include "layers/conv/window.hpp"
#include "layers/gemm/weights.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// x has dimensions batch, spatial ones, channels, or is channels first: batch, channels, spatial ones.
struct integer_convolution {
    bool x_is_signed = false; // s8, else u8
    std::int64_t batch = 0, groups = 1, channels = 0, filters = 0;
    layers::window window = {};
    bool is_channels_first = false;                // x and y are channels first, and so x may be
    std::vector<std::int32_t> w_zero_points = {};  // none, one, or one for each filter
    targets::features available = targets::scalar; // to the loops

    std::int32_t w_zero_point(std::int64_t filter) const {
        return w_zero_points.empty() ? 0
                                     : w_zero_points[w_zero_points.size() == 1 ? 0 : static_cast<std::size_t>(filter)];
    }
};

/// Makes the convolution of x of one shape: p as it was packed, but for batch and what the window has of x. The weights
/// are packed once for all shapes.
using convolution_factory = std::function<std::unique_ptr<const accumulator_source>(const integer_convolution &p)>;

/// Chooses channels_first/ for few channels or filters in a group, if x and y may be channels first, depthwise/ for
/// depthwise convolutions, and im2col for others. Copies w.
convolution_factory pack_convolution(const integer_convolution &p, const constant_weights &w);

/// Packs for im2col: the windows are the rows of a matrix, which is multiplied by the weights.
convolution_factory pack_im2col_convolution(const integer_convolution &p, const constant_weights &w);

} // namespace dynquant::layers
