// Windows that slide over the spatial dimensions of a tensor: convolution's and pooling's.
#pragma once

#include <algorithm>

#include "dynquant/quantization.hpp"

namespace dynquant::layers {

/// One entry for each spatial dimension.
struct window {
    dims x, y; // extents of the tensors
    dims kernel, strides, dilations, pads_begin, pads_end;

    std::size_t rank() const { return x.size(); }

    bool is_padded() const {
        const auto is_positive = [](std::int64_t pad) { return pad > 0; };
        return std::ranges::any_of(pads_begin, is_positive) || std::ranges::any_of(pads_end, is_positive);
    }

    /// How many positions of x it spans along dimension d.
    std::int64_t covered(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }

    /// The extent of x and its padding along dimension d.
    std::int64_t padded(std::size_t d) const { return x[d] + pads_begin[d] + pads_end[d]; }

    /// Where in x, along dimension d, tap k of the window at position i lies; outside x in the padding.
    std::int64_t position(std::size_t d, std::int64_t i, std::int64_t k) const {
        return i * strides[d] - pads_begin[d] + k * dilations[d];
    }

    /// Of the window at position i, along dimension d, the taps that lie in x and not in the padding.
    struct taps {
        std::int64_t begin, end;
    };
    taps taps_inside(std::size_t d, std::int64_t i) const {
        const auto first = position(d, i, 0), step = dilations[d];
        const auto begin = first < 0 ? (-first + step - 1) / step : 0;
        const auto end = first < x[d] ? std::min(kernel[d], (x[d] - first + step - 1) / step) : 0;
        return {begin, std::max(begin, end)};
    }
};

} // namespace dynquant::layers
