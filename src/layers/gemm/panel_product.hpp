// Products by weights packed in panels, the layout that the loops in isa/ read as one sequential stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "parallel/parallel.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// What saturation_excess.hpp subtracted from the weights of each panel. The loops add its products to the sums.
struct excess_weights {
    struct weight {
        std::int32_t line, index; // the element of a row of x that it multiplies
        std::int16_t column, value;
        bool operator==(const weight &) const = default;
    };
    const std::int64_t *begin; // index of each panel's first weight, then the number of all
    const weight *weights;     // columns: of the panel
};

/// What sums start from and become where they are stored, with parameters of each column that are readable for 64 more.
struct sums_ending {
    const std::int32_t *initial = nullptr; // null: 0
    /// Both or none: f32 takes the place of each sum, sum * factor + summand, each operation rounded, then its clip as
    /// layers/epilogue has it.
    const float *factors = nullptr, *summands = nullptr;
    float lower = -std::numeric_limits<float>::infinity(), upper = std::numeric_limits<float>::infinity();

    sums_ending from_column(std::int64_t n) const {
        return {initial ? initial + n : nullptr, factors ? factors + n : nullptr, summands ? summands + n : nullptr,
                lower, upper};
    }
};

/// Rows of x that are each the concatenation of some lines, as a convolution's windows are: line i of row m begins at
/// lines[i] + m * stride. So a convolution needs no copies of its windows.
struct indirect_rows {
    const std::byte *const *lines;
    std::int64_t stride, rows;
    const std::int32_t *sums = nullptr; // of each row, where weights have zero points
    sums_ending ending = {};
};

/// Rows of x that a loop by vectors multiplies at once: their sums of a panel of four vectors stay in registers.
inline constexpr int panel_tile_rows = 6;

/// Weights in panels of adjacent columns. A panel interleaves some rows, mostly four: for each four rows, the four
/// weights of each column are adjacent. Zeros pad the rows of each line.
struct panel_product {
    const std::int8_t *weights;
    std::int64_t panel_bytes, line_bytes; // of a panel, and of what it has for one line
    const std::int32_t *compensation;     // each column's initial sum, where x is read with the other sign
    const std::int32_t *zero_points;      // of each column, which the sums of rows multiply; null: none
    excess_weights excess;
    std::int64_t columns;
    std::int64_t lines, line_inner; // of a row of x
    bool x_is_signed;
};

/// Computes the sums of some panels, which wrap. y_stride: elements from row to row of y.
using multiply_panels_function = void (*)(
        const panel_product &p, const indirect_rows &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride);

/// A function and its panels.
struct panel_loop {
    multiply_panels_function multiply;
    std::int64_t columns;         // of a panel
    std::int64_t depth;           // the rows of a line are padded to a multiple of this
    std::int64_t interleaved = 4; // rows
    bool has_excess = false;      // see saturation_excess.hpp
    bool reads_signed = false;    // elements of x; u8 is read as s8, 128 less, and else s8 as u8, 128 more
};

/// Panels of 1, 2, ... times as many columns as the first.
struct panel_loops {
    int count;
    panel_loop of[4];
};

/// amx_int8 computes few rows by avx512_vnni.
extern const targets::candidate<const panel_loops *> panels_table[];
/// Loops that multiply by words, for weights with much excess, which panel_loop::has_excess says of a loop by bytes.
/// The entry is null on processors without AVX2.
extern const targets::candidate<const panel_loop *> word_panels_table[];

} // namespace dynquant::layers
