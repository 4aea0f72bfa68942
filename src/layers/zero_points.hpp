// The terms of zero points in integer sums. All arithmetic wraps modulo 2^32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/product_slice.hpp"

namespace dynquant::layers {

/// The column sums of w - w_zero_points. w is row-major, `inner` by `columns`; zero points: none, one, or one for each
/// column.
std::vector<std::int32_t> weight_sums_of(
        std::int64_t inner, std::int64_t columns, std::span<const std::int32_t> w_zero_points, const std::int8_t *w);

/// Subtracts from each row of y the sum of its row of x times the zero points: one, or one for each column.
void subtract_row_sums(const product_slice::problem &p, const rows_of_lines &x,
        std::span<const std::int32_t> w_zero_points, std::int32_t *y, std::int64_t y_stride);

/// For each channel bias - x_zero_point * weight_sums. bias: none, one, or one for each channel. Empty: all zeros.
void find_bias(std::span<const std::int32_t> weight_sums, std::int32_t x_zero_point, std::span<const std::int32_t> bias,
        std::vector<std::int32_t> &result);

/// Adds the bias to each row of y.
void add_bias(std::span<const std::int32_t> bias, std::int64_t rows, std::int32_t *y);

} // namespace dynquant::layers
