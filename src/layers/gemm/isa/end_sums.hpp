// What sums become where they are stored: sums_ending, and the weights' zero points.
#pragma once

#include "layers/gemm/panel_product.hpp"

namespace dynquant::layers {
namespace {

/// The bits of a vector of floats in place of sums, those of columns from n on.
template <typename V>
[[gnu::always_inline]] inline typename V::integers to_floats(
        const sums_ending &ending, std::int64_t n, typename V::integers sums) {
    const auto x = V::to_reals(sums) * V::load(ending.factors + n) + V::load(ending.summands + n);
    return V::as_integers(V::min(V::splat(ending.upper), V::max(V::splat(ending.lower), x)));
}

/// Ends sums that a loop has stored, of rows from `row` on by `columns` columns from `first` on. y is that of row 0 and
/// column 0.
template <typename V>
void end_sums(const panel_product &p, const indirect_rows &x, std::int64_t row, std::int64_t rows, std::int64_t first,
        std::int64_t columns, std::int32_t *y, std::int64_t y_stride) {
    const auto &ending = x.ending;
    if (!ending.initial && !ending.factors && !p.zero_points) return;
    const auto whole = columns / V::lanes * V::lanes;
    for (const auto end = row + rows; row < end; ++row) {
        auto *const to = y + row * y_stride + first;
        const auto ended = [&](std::int64_t n, typename V::integers sums) __attribute__((always_inline)) {
            const auto at = first + n;
            if (ending.initial) sums = V::add(sums, V::load(ending.initial + at));
            if (p.zero_points)
                sums = V::subtract(sums, V::multiply(V::load(p.zero_points + at), V::splat(x.sums[row])));
            return ending.factors ? to_floats<V>(ending, at, sums) : sums;
        };
        for (std::int64_t n = 0; n < whole; n += V::lanes)
            V::store(to + n, ended(n, V::load(to + n)));
        if (const auto count = columns - whole; count > 0)
            V::store_partial(to + whole, count, ended(whole, V::load_partial(to + whole, count)));
    }
}

} // namespace
} // namespace dynquant::layers
