#include "layers/gemm/unpacked/unpacked_product.hpp"

#include "elements/ceil_div.hpp"
#include "layers/gemm/zero_points.hpp"

namespace dynquant::layers {
namespace {

template <typename X>
void widen(const std::byte *x, std::int64_t count, std::int32_t zero_point, std::int16_t *to) {
    const auto *const values = reinterpret_cast<const X *>(x);
    for (std::int64_t k = 0; k < count; ++k)
        to[k] = static_cast<std::int16_t>(values[k] - zero_point);
}

/// From some columns of a row of sums.
void subtract_zero_points(
        std::span<const std::int32_t> zero_points, parallel::range columns, std::uint32_t sum_of_x, std::int32_t *y) {
    for (auto n = columns.begin; n < columns.end; ++n)
        y[n] = static_cast<std::int32_t>(static_cast<std::uint32_t>(y[n])
                - static_cast<std::uint32_t>(zero_point_of(zero_points, n)) * sum_of_x);
}

} // namespace

bool can_multiply_unpacked(const unpacked_operands &o) {
    return o.rows <= most_unpacked_rows && (o.w.of_filter == 1 || o.w.of_channel == 1);
}

void multiply_unpacked(
        const unpacked_operands &o, targets::features available, aligned_vector<std::int16_t> &words, std::int32_t *y) {
    const auto stride = round_up(o.inner, 2);
    const auto size = static_cast<std::size_t>(o.rows * stride);
    if (words.size() < size) words.resize(size);
    std::uint32_t sums_of_x[most_unpacked_rows] = {};
    for (std::int64_t r = 0; r < o.rows; ++r) {
        auto *const to = words.data() + r * stride;
        const auto *const x = o.x + r * o.inner;
        const auto zero_point = zero_point_of(o.x_zero_points, r);
        o.x_is_signed ? widen<std::int8_t>(x, o.inner, zero_point, to)
                      : widen<std::uint8_t>(x, o.inner, zero_point, to);
        if (stride != o.inner) to[o.inner] = 0;
        for (std::int64_t k = 0; k < o.inner; ++k)
            sums_of_x[r] += static_cast<std::uint32_t>(to[k]);
    }
    const bool has_adjacent_rows = o.w.of_filter != 1;
    const unpacked_product p {words.data(), o.rows, stride, o.w.first, o.inner,
            has_adjacent_rows ? o.w.of_filter : o.w.of_channel, o.w_is_signed, has_adjacent_rows};
    const auto multiply = *targets::pick(available, unpacked_table);
    // Parts end where cache lines of w do.
    constexpr std::int64_t line = 64;
    const auto lines = ceil_div(o.columns, line);
    parallel::for_each_part(
            lines, parallel::parts_for_items(lines, o.rows * o.inner * o.columns), [&](parallel::range part) {
                const parallel::range columns {part.begin * line, std::min(part.end * line, o.columns)};
                multiply(p, columns, y, o.columns);
                if (o.w_zero_points.empty()) return;
                for (std::int64_t r = 0; r < o.rows; ++r)
                    subtract_zero_points(o.w_zero_points, columns, sums_of_x[r], y + r * o.columns);
            });
}

} // namespace dynquant::layers
