// src/layers/conv/channels_first: convolutions of tensors that are channels first, for few channels or filters in a
// group, where rows of channels would leave most of a vector empty. A vector holds positions. isa/ has one source for
// each instruction set; multiply_cells.hpp has the loop. Start here.
//
// A cell is 32 bits of x at one position, what a lane of a dot product takes: 4 bytes, or 2 words where the processor
// has no sums of four products. Its elements are several channels at one tap, or adjacent taps of one channel. A step
// multiplies a cell of x by a cell of weights of each filter. Cells of consecutive positions are adjacent, so that one
// load serves all filters.
#pragma once

#include "layers/conv/integer_convolution.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// Consecutive positions of a line of y.
struct channels_first_span {
    const std::byte *const *cells; // of each step, where the cell of the first position lies
    std::int64_t steps, positions;
    const std::int32_t *weights;     // a cell for each filter: blocks of 8, 4, 2 or 1 filters, step by step
    const std::int32_t *start;       // of each filter's sums
    const std::int32_t *zero_points; // of each filter's weights, where cells are bytes; null: none
    const std::int32_t *x_sums;      // of each position, which the zero points multiply
    std::int64_t filters;
    std::int32_t *sums;  // of all positions of a filter, then of the next one
    std::int64_t stride; // from filter to filter
};

/// The sums wrap. Reads and writes up to channels_first_overrun positions beyond the last one.
using channels_first_function = void (*)(const channels_first_span &s);
inline constexpr std::int64_t channels_first_overrun = 16;

/// A function, and how many elements of x a cell has: 4 bytes, or 2 words.
struct channels_first_loop {
    channels_first_function multiply;
    std::int64_t elements;
    std::int64_t lanes; // positions of a vector
};

extern const targets::candidate<const channels_first_loop *> channels_first_table[];

/// Null unless x and y are channels first, and channels or filters so few that this may be the fastest way.
convolution_factory pack_channels_first_convolution(const integer_convolution &p, const constant_weights &w);

/// Packs any convolution with channels for the given loop.
convolution_factory pack_channels_first_convolution(
        const integer_convolution &p, const channels_first_loop &kind, const constant_weights &w);

} // namespace dynquant::layers
