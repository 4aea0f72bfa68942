// Narrow weights in panels, the layout that the loops in isa/ read as one sequential stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elements/ceil_div.hpp"
#include "parallel/parallel.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// How packed weights are stored. Integers are s8, or u4 in pairs: a byte has those of two adjacent rows of a column,
/// the first in its low half. Integers and their zero points have the offset that makes them so (u8: 128 less, s4: 8
/// more). Where all differences fit s8, these are stored, and there are no zero points.
enum class weight_code { s8, u4, f8_e4m3, f8_e5m2 };

/// A scale or a zero point for each block of rows and each column, in panels as the weights are; in one panel where
/// all have the same.
struct weight_parameters {
    std::int64_t of_panel; // from panel to panel; 0: all panels share one
    const float *scales;
    const std::int8_t *zero_points; // null: none
};

/// What columns share where x is scaled in place of weights. Each group of columns has panels of its own.
struct column_groups {
    std::int64_t columns, panels;   // of a group
    const float *scales;            // [groups, blocks] of x; null: one group of all columns, and x is as given
    std::int64_t block, blocks;     // rows that share a scale, and how many there are of them
    const std::int8_t *zero_points; // [groups, rows] with their offset, and one more; null: none
    /// From group to group, from block to block, and from row to row: [blocks, groups] and [rows, groups] where weights
    /// are read as they lie.
    std::int64_t scales_of_group, scales_of_block, zero_points_of_group, zero_points_of_row;
};

/// Weights as they lie, row-major or transposed, in place of panels.
struct given_weights {
    const std::byte *data; // null: weights are in panels
    std::int64_t stride;   // elements from row to row; if transposed, from column to column
    bool is_transposed, are_nibbles;
    std::uint8_t flip; // of bytes, so that all are s8 or u4
};

/// Weights in panels of adjacent columns; a panel has row after row. Zeros pad the last one of a group.
struct weight_only_panels {
    weight_code code;
    const std::byte *weights;
    std::int64_t panel_bytes;
    std::int64_t inner, columns;
    std::int64_t block; // rows whose products are added up before the sum is scaled; all of them if are_weights_scaled
    weight_parameters parameters;
    std::int64_t parameter_block; // rows that share a scale and a zero point
    bool are_weights_scaled;      // each weight is scaled before it is multiplied, in place of the sums
    bool are_float16;             // a scaled weight is rounded to float16
    column_groups groups;
    given_weights given;
};

/// The first column of a panel, and its columns that are not padding.
[[gnu::always_inline]] constexpr std::int64_t first_column(
        const weight_only_panels &p, std::int64_t panel, std::int64_t panel_columns) {
    return panel / p.groups.panels * p.groups.columns + panel % p.groups.panels * panel_columns;
}
[[gnu::always_inline]] constexpr std::int64_t columns_of(
        const weight_only_panels &p, std::int64_t panel, std::int64_t panel_columns) {
    const auto in_group = p.groups.columns - panel % p.groups.panels * panel_columns,
               rest = p.columns - first_column(p, panel, panel_columns), most = in_group < rest ? in_group : rest;
    return most < panel_columns ? most : panel_columns;
}

/// Rows of x. From row to row are `stride` elements, from element to element of a row `step`: one of them is 1.
struct float_rows {
    const float *first;
    std::int64_t rows, stride, step = 1;
};

/// At most so many rows are computed at once.
inline constexpr std::int64_t max_weight_only_rows = 132;

/// Bytes of widened weights, which stay in a first-level cache of 32 KiB.
inline constexpr std::int64_t widened_bytes = 16 * 1024;

/// The floats of a buffer: widened_bytes, and one more row for each of two panels, in whole cache lines.
constexpr std::int64_t weight_only_buffer_floats(std::int64_t panel_columns) {
    return ((widened_bytes + 8 * panel_columns) / 64 + 1) * 16;
}

/// What a part needs: a buffer of bytes, two of floats, accumulators and sums.
constexpr std::int64_t weight_only_scratch_floats(std::int64_t panel_columns) {
    return 3 * weight_only_buffer_floats(panel_columns) + 2 * max_weight_only_rows * panel_columns;
}

/// Rows of x that have their accumulators in registers at once.
inline constexpr int weight_only_tile_rows = 6;

/// Rows of x, at least, that are copied so that each tile has its elements together, and are multiplied by weights that
/// have become floats; the panels of a part that pay for it, as to copy takes a quarter of the time of a panel's
/// products; and the rows of weights, at most, that share a scale. It is the scaled sums of short blocks that gain,
/// which then stay in the first-level cache: blocks of 32 a tenth at most, of 128 nothing, as measured with AVX2.
inline constexpr std::int64_t min_many_rows = 48, min_many_panels = 8, max_many_block = 64;

/// What a part needs beside that where rows are many, their elements lie apart or are scaled: a copy of them in tiles,
/// of which the last vector that is stored may be wider.
constexpr std::int64_t copied_row_floats(std::int64_t rows, std::int64_t inner) {
    return round_up(rows, weight_only_tile_rows) * inner + 16;
}

/// Computes the columns of some panels of at most max_weight_only_rows rows. y: of the first row.
using multiply_weight_only_function = void (*)(const weight_only_panels &p, const float_rows &x, parallel::range panels,
        float *y, std::int64_t y_stride, float *scratch);

/// Rows of x, at most, by weights as they lie.
inline constexpr std::int64_t max_given_x_rows = 8;
/// Rows of these that are multiplied at once, at most: of the columns of two panels where each column lies in one
/// piece, and of all columns where each row does. Of more the lines fall into few sets of a first-level cache.
inline constexpr std::int64_t given_rows = 256, given_rows_of_all = 16;
/// How far ahead they are fetched: more of them would leave that cache before they are read.
inline constexpr std::int64_t given_bytes_ahead = 256;

/// The floats of such a product beside weight_only_scratch_floats(): scaled x, and sums of all columns.
constexpr std::int64_t given_floats(std::int64_t rows, std::int64_t panels, std::int64_t panel_columns) {
    return max_given_x_rows * given_rows + rows * panels * panel_columns;
}

/// Some columns of a panel by what the windows of a convolution meet at some vectors of adjacent positions: in the
/// first lane of vector v row k of the weights is multiplied by x[(group - first_group) * group_elements + starts[v] +
/// offsets[k]].
struct windows_of_vectors {
    std::int64_t panel;
    parallel::range columns; // of the panel
    const float *x;
    std::int64_t first_group;
    const std::int64_t *starts, *offsets;
    std::int64_t vectors;                 // starts, and places below, has one more: two by which a tile is filled
    std::int64_t filters, group_elements; // of a group
    std::int64_t of_line;                 // vectors of a line of y; 0: there may be parts of lines
};

/// Where the results go: vector v of column i from to[i * stride + places[v] - places[0]] on. A vector may overwrite
/// the first lanes of those behind it, which are stored later. None is stored from place `end` on.
struct window_results {
    float *to; // of the first of the columns
    std::int64_t stride;
    const std::int64_t *places;
    std::int64_t end;
    std::span<const float> summands; // one of each column or of all, -0 where there is none: added to results, rounded
    bool has_clip;                   // then, as layers/epilogue has it
    float lower, upper;
    float *sums; // of each of the columns the lanes of vectors + 1, what chunks of rows leave to those behind
};

/// Computes columns of a panel whose blocks have all rows. scratch: weight_only_scratch_floats().
using multiply_windows_function = void (*)(
        const weight_only_panels &p, const windows_of_vectors &x, const window_results &results, float *scratch);

struct weight_only_loop {
    multiply_weight_only_function multiply;
    multiply_weight_only_function multiply_given; // p has weights as they lie
    multiply_windows_function multiply_windows;
    std::int64_t columns, lanes; // of a panel, of a vector
};

extern const targets::candidate<const weight_only_loop *> weight_only_table[];

} // namespace dynquant::layers
