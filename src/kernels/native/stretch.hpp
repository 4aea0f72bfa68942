// Part of a row, and its parameters.
#pragma once

#include "kernels/native/parameters.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

/// A table of parameters that come again and again is worth an eighth of the columns that it serves. Measured: rows of
/// 2048 and 4096 columns take a third less than with full tables.
constexpr std::int64_t uses_of_table = 8;

/// For how many columns to prepare parameters that come again every `period` columns in a row of so many.
inline std::int64_t whole_periods(std::int64_t period, std::int64_t columns, std::int64_t uses = uses_of_table) {
    const auto worthwhile = least(columns / uses, table_capacity);
    return worthwhile < period ? period : worthwhile / period * period;
}

/// Rows whose columns are not all prepared at once are walked in bands of so many: more rows of a tensor in memory,
/// each a few pages further on, have no room in the translation buffers until the next columns of them are wanted.
constexpr std::int64_t rows_of_band = 128;

/// Calls compute(band) for the bands of a rectangle, or for all of it.
template <typename Compute>
void for_each_band(const rectangle &all, bool in_bands, const Compute &compute) {
    const auto rows = in_bands ? rows_of_band : all.row_end - all.row_begin;
    for (auto row = all.row_begin; row < all.row_end; row += rows)
        compute(rectangle {row, least(row + rows, all.row_end), all.column_begin, all.column_end});
}

/// A stretch of columns, and where it begins among the parameters.
struct stretch {
    std::int64_t begin, count, number, phase;

    stretch(const layout &shape, std::int64_t column, std::int64_t columns)
        : begin(column)
        , count(columns)
        , number(column / shape.repeat)
        , phase(column % shape.repeat) {}

    /// Its parameters, in a row whose first is `of_row`.
    parameter_run parameters(const layout &shape, std::int64_t of_row) const {
        const auto stride = shape.form.row.parameter_stride, needed = (phase + count - 1) / shape.repeat + 1;
        if (shape.period > 0) return {of_row, stride, needed, shape.period, number % shape.period};
        return {of_row + number * stride, stride, needed};
    }
};

} // namespace
} // namespace dynquant::kernels::native
