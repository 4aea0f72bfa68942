// The sliding window of convolution and pooling.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {

/// Limit of extents and attributes: beyond any window, while products of two do not overflow.
inline constexpr std::int64_t max_extent = std::int64_t {1} << 30;

/// One entry for each spatial dimension.
struct window {
    dims x, y; // extents of the tensors
    dims kernel, strides, dilations, pads_begin, pads_end;

    std::size_t rank() const { return x.size(); }

    bool is_padded() const {
        const auto is_positive = [](std::int64_t pad) { return pad > 0; };
        return std::ranges::any_of(pads_begin, is_positive) || std::ranges::any_of(pads_end, is_positive);
    }

    /// Whether each position of y has one tap, the same position of x.
    bool is_pointwise() const { return *volume(kernel) == 1 && !is_padded() && x == y; }

    /// The extent of the dilated kernel along dimension d.
    std::int64_t covered(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }

    /// The extent of x with its padding along dimension d.
    std::int64_t padded(std::size_t d) const { return x[d] + pads_begin[d] + pads_end[d]; }

    /// The position in x, along dimension d, of tap k for output i. Outside [0, x[d]) in the padding.
    std::int64_t position(std::size_t d, std::int64_t i, std::int64_t k) const {
        return i * strides[d] - pads_begin[d] + k * dilations[d];
    }

    /// The taps of output i, along dimension d, that lie in x and not in the padding.
    struct taps {
        std::int64_t begin, end;
    };
    taps taps_inside(std::size_t d, std::int64_t i) const {
        const auto first = position(d, i, 0), step = dilations[d];
        const auto begin = first < 0 ? ceil_div(-first, step) : 0;
        const auto end = first < x[d] ? std::min(kernel[d], ceil_div(x[d] - first, step)) : 0;
        return {begin, std::max(begin, end)};
    }

    // A line: all positions along the last dimension. Lines of x, of y and of taps are numbered through the other ones.

    /// The line of x that a line of taps meets for a line of y; -1 in the padding.
    std::int64_t x_line(std::int64_t y_line, std::int64_t tap_line) const;

    /// The columns of y, a half-open range, whose taps along the last dimension all lie in x.
    struct columns {
        std::int64_t begin, end;
    };
    columns interior() const;
};

/// Makes the window of a product, which may have any number of rows. make_window() limits an extent.
inline window window_of_products(std::int64_t rows) {
    return {{rows}, {rows}, {1}, {1}, {1}, {0}, {0}};
}

/// A window as ONNX's attributes state it. Empty ones are left out.
struct window_attributes {
    std::string auto_pad = "NOTSET";
    std::vector<std::int64_t> dilations = {}, kernel_shape = {}, pads = {}, strides = {};
    bool ceil = false;
};

/// Over spatial dimensions x. Throws error, whose message names the attribute and not the node, for what does not fit.
window make_window(const window_attributes &given, const dims &x, const dims &kernel);

} // namespace dynquant::layers
