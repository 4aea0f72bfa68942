// src/layers/conv/channels_first: convolutions of tensors that are channels first, for few channels or filters in a
// group, where rows of channels would leave most of a vector empty. A vector holds positions. isa/ has one source for
// each instruction set; multiply_cells.hpp has the loop. Start here.
//
// A position has a cell of 32 bits: x of four channels at one tap, or of four taps beside each other of one channel; of
// two where the processor has no sums of four products, as 16 bits each. Cells of consecutive positions lie side by
// side, so that one load serves all filters, which multiply it by a cell of weights each.
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
};

extern const targets::candidate<const channels_first_loop *> channels_first_table[];

/// Null where another way is as fast or more than two dimensions are spatial.
convolution_factory pack_channels_first_convolution(const integer_convolution &p, const constant_weights &w);

/// Whether it is, for this shape of x, of what pack_channels_first_convolution() packs.
bool channels_first_is_faster(const integer_convolution &of_shape);

/// Packs any convolution of one or two spatial dimensions with channels for the given loop.
convolution_factory pack_channels_first_convolution(
        const integer_convolution &p, const channels_first_loop &kind, const constant_weights &w);

} // namespace dynquant::layers
