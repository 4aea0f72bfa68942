#include "layers/zero_points.hpp"

#include "targets/sum_of_bytes.hpp"

namespace dynquant::layers {
namespace {

std::int32_t wrap(std::int64_t value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); // modulo 2^32
}

std::int64_t row_sum(const product_slice::problem &p, const rows_of_lines &x, std::int64_t row) {
    const auto count = p.inner / p.lines;
    auto total = p.x_is_signed ? -128 * p.inner : 0;
    for (std::int64_t i = 0; i < p.lines; ++i)
        total += simd::sum_of_bytes(x.lines[i] + row * x.stride, count, p.x_is_signed ? 128 : 0);
    return total;
}

} // namespace

std::vector<std::int32_t> weight_sums_of(
        std::int64_t inner, std::int64_t columns, std::span<const std::int32_t> w_zero_points, const std::int8_t *w) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(columns));
    for (std::int64_t k = 0; k < inner; ++k)
        for (auto &to : sums)
            to += *w++;
    std::vector<std::int32_t> result;
    for (const auto of_column : sums) {
        const auto zero_point =
                w_zero_points.empty() ? 0 : w_zero_points[w_zero_points.size() == 1 ? 0 : result.size()];
        result.push_back(wrap(of_column - inner * zero_point));
    }
    return result;
}

void subtract_row_sums(const product_slice::problem &p, const rows_of_lines &x,
        std::span<const std::int32_t> w_zero_points, std::int32_t *y, std::int64_t y_stride) {
    const auto *zero_points = w_zero_points.data();
    for (std::int64_t m = 0; m < x.rows; ++m, y += y_stride) {
        const auto total = static_cast<std::uint32_t>(row_sum(p, x, m));
        const auto subtract = [&](std::int64_t n, std::uint32_t term) {
            y[n] = static_cast<std::int32_t>(static_cast<std::uint32_t>(y[n]) - term);
        };
        if (w_zero_points.size() == 1)
            for (std::int64_t n = 0; n < p.columns; ++n)
                subtract(n, total * static_cast<std::uint32_t>(*zero_points));
        else
            for (std::int64_t n = 0; n < p.columns; ++n)
                subtract(n, total * static_cast<std::uint32_t>(zero_points[n]));
    }
}

void find_bias(std::span<const std::int32_t> weight_sums, std::int32_t x_zero_point, std::span<const std::int32_t> bias,
        std::vector<std::int32_t> &result) {
    result.clear();
    if (x_zero_point == 0 && bias.empty()) return;
    for (std::size_t c = 0; c < weight_sums.size(); ++c) {
        const std::int64_t own = bias.empty() ? 0 : bias[bias.size() == 1 ? 0 : c];
        result.push_back(wrap(own - std::int64_t {x_zero_point} * weight_sums[c]));
    }
}

void add_bias(std::span<const std::int32_t> bias, std::int64_t rows, std::int32_t *y) {
    if (bias.empty()) return;
    for (std::int64_t m = 0; m < rows; ++m, y += bias.size())
        for (std::size_t n = 0; n < bias.size(); ++n)
            y[n] = wrap(std::int64_t {y[n]} + bias[n]);
}

} // namespace dynquant::layers
