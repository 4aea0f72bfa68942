// Convolutions with constant weights of 8 bits, as ONNX's ConvInteger defines them: exact, in s32, which wraps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "layers/conv/accumulator_source.hpp"
#include "layers/conv/window.hpp"
#include "layers/gemm/weights.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// What computes a convolution: im2col.cpp, depthwise/ or channels_first/.
enum class algorithm { im2col, depthwise, channels_first };

/// A convolution. As pack_convolution() takes it, batch is 0, and the window has the kernel, and strides and dilations
/// as the attributes state them: unchecked, perhaps empty. As a convolution_factory takes it, all is set. x is channels
/// last in memory, or channels first where accumulator_source::takes_channels_first().
struct integer_convolution {
    bool x_is_signed = false; // s8, else u8
    std::int64_t batch = 0, groups = 1, channels = 0, filters = 0;
    layers::window window = {};
    /// The layer's x and y are channels first in memory, so that channels_first/ may be chosen.
    bool is_channels_first = false;
    std::vector<std::int32_t> w_zero_points = {};  // none, one, or one for each filter
    targets::features available = targets::scalar; // the features of the processor that loops may use
    std::optional<algorithm> only = {};            // for those who compare algorithms

    std::int32_t w_zero_point(std::int64_t filter) const { return zero_point_of(w_zero_points, filter); }
    bool has_zero_points() const {
        return std::ranges::any_of(w_zero_points, [](std::int32_t zero_point) { return zero_point != 0; });
    }
    /// Whether taps beside each other along the last dimension are adjacent in memory, channels last: one line.
    bool has_dense_lines() const { return groups == 1 && (window.dilations.empty() || window.dilations.back() == 1); }
};

/// Makes the accumulator source for x of one shape. p: the convolution that was packed, with batch and a whole window.
/// All shapes share the packed weights.
using convolution_factory = std::function<std::unique_ptr<const accumulator_source>(const integer_convolution &p)>;

/// Packs for depthwise/ or im2col, and for channels_first/ as well where x and y are channels first and a group has few
/// channels or filters. The factory takes one of the two for a shape of x. Copies w.
convolution_factory pack_convolution(const integer_convolution &p, const constant_weights &w);

/// Fewer rows in a line of y are copied by im2col: the microkernels take several rows at once.
inline constexpr std::int64_t min_direct_rows = 12;

/// Packs for an indirect product, which copies (im2col) only the windows that cannot be read in place.
convolution_factory pack_im2col_convolution(const integer_convolution &p, const constant_weights &w);

} // namespace dynquant::layers
