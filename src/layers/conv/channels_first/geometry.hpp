// Where the cells of channels_first.hpp lie, and how tasks cut a convolution.
#pragma once

#include "layers/conv/channels_first/channels_first.hpp"

namespace dynquant::layers {

/// What a cell has: elements of several channels, or of several taps of a line.
enum class cells_of { channels, taps };

struct cell_layout {
    /// Takes the layout with the fewest steps and, of these, the fewest cells to make.
    cell_layout(const integer_convolution &p, std::int64_t elements);

    std::int64_t channel_cells() const { return of == cells_of::channels ? ceil_div(channels, elements) : channels; }
    std::int64_t line_cells() const { return of == cells_of::channels ? line_taps : ceil_div(line_taps, elements); }
    std::int64_t steps() const { return tap_lines * channel_cells() * line_cells(); }

    std::int64_t elements, channels, line_taps, tap_lines;
    cells_of of;
};

/// What tasks are: some lines of y in one plane, with all columns, or some columns of one line.
struct task_size {
    std::int64_t lines, columns;
};

/// Where cells and sums lie. A plane is two-dimensional, a line is along the last dimension. Where lines are short they
/// are joined: the sums of a filter are computed as one line with all lines of cells, and those between the lines are
/// then dropped.
struct geometry {
    geometry(const integer_convolution &of_shape, const cell_layout &cells);

    bool are_joined() const { return joined_line != 0; }

    /// Lines of x, with those of padding, that some lines of y meet in a plane of taps.
    std::int64_t lines_met(std::int64_t of_lines) const {
        return (of_lines - 1) * line_stride + (tap_lines - 1) * line_dilation + 1;
    }
    /// Cells of a line for some columns. Lines that are joined have none between them.
    std::int64_t cells_of_line(std::int64_t of_columns) const {
        return are_joined() ? joined_line : round_up(of_columns + most_shift, 16);
    }
    /// What the cells of one phase and cell of channels take. Whole vectors are made, beyond the last line, too.
    std::int64_t phase_bytes(const task_size &of) const {
        return 4 * (tap_planes * lines_met(of.lines) * cells_of_line(of.columns) + channels_first_overrun);
    }
    std::int64_t cells_bytes(const task_size &of) const {
        return cells.channel_cells() * std::ssize(phases) * phase_bytes(of) + 4 * channels_first_overrun;
    }
    /// How far the sums of filters lie apart.
    std::int64_t sums_of_filter(const task_size &of) const {
        return of.lines * (are_joined() ? cells_of_line(of.columns) : of.columns) + channels_first_overrun;
    }
    /// Elements of a line of x with padding that some columns meet, and beyond them what makes whole vectors.
    std::int64_t line_elements(std::int64_t of_columns) const {
        return round_up(of_columns + most_shift, 16) * stride + cells.elements * dilation + stride;
    }
    /// Elements of copied lines with padding: from line to line, and of all that a task meets in a channel.
    std::int64_t copied_line(const task_size &of) const {
        return are_joined() ? joined_line : line_elements(of.columns);
    }
    std::int64_t copied_elements(const task_size &of) const {
        return lines_met(of.lines) * copied_line(of) + (are_joined() ? line_elements(16) : 0);
    }

    /// Cells and sums of a task stay in a second-level cache of 256 KiB; every part has equally many, or nearly.
    task_size size_of_tasks(std::int64_t parts) const;

    integer_convolution p;
    cell_layout cells;
    window outer;
    std::int64_t x_elements; // of a channel
    std::int64_t planes, tap_planes;
    std::int64_t columns, x_columns, filters, stride, dilation; // along a line
    std::int64_t lines = 1, x_lines = 1, line_stride = 1, line_dilation = 1, line_pad = 0, tap_lines = 1; // of a plane
    std::int64_t most_shift = 0;
    std::int64_t joined_line = 0; // elements of a line of x, with padding, and cells; 0: lines are not joined
    std::vector<std::int64_t> phases;
    std::vector<std::int64_t> tap_phase,
            tap_shift; // of each cell of a line's taps: which phase, and how many positions on
};

} // namespace dynquant::layers
