// The terms of zero points in integer sums, and what runs prepare for each column. Integers wrap modulo 2^32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/gemm/panel_product.hpp"

namespace dynquant::layers {

/// The zero point of a row, a column or an image: 0 where there are none, or the one of all, or its own.
inline std::int32_t zero_point_of(std::span<const std::int32_t> zero_points, std::int64_t i) {
    return zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

/// Subtracts `inner` times the zero points from the sums of columns. Zero points: none, one, or one for each column.
void subtract_from_sums(std::span<const std::int32_t> zero_points, std::int64_t inner, std::span<std::int32_t> sums);

/// The sums of some rows of x.
void sum_rows(const panel_product &p, const indirect_rows &x, parallel::range rows, std::int32_t *sums);

/// Gives bias - x_zero_point * weight_sums for each channel, or nothing where x_zero_point is 0 and there is no bias.
/// bias: none, one, or one for each channel.
void fold_zero_point_into_bias(std::span<const std::int32_t> weight_sums, std::int32_t x_zero_point,
        std::span<const std::int32_t> bias, std::vector<std::int32_t> &result);

/// Gives scale * factors, as many as there are.
void multiply(std::span<const float> factors, float scale, float *to);

} // namespace dynquant::layers
