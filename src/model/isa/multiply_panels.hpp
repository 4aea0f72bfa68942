// The algorithm of few_rows.hpp, over the primitives of an instruction set:
//     lanes                 sums in a vector, a divisor of 16
//     vector
//     load(p), store(p, v)  aligned as they come
//     broadcast(x)          four bytes, again and again
//     dot(sums, x, w)       sums plus those of four products of u8 and s8 each, wrapping
#pragma once

#include <cstring>

#include "model/few_rows.hpp"

namespace dynquant::models {
namespace {

/// So many rows at once: their sums of a panel stay in registers, for which all loops over them have to be unrolled.
template <typename V, int rows>
void multiply_group(const few_rows_product &p, const std::byte *x, std::int64_t panel, std::int32_t *y) {
    constexpr int vectors = panel_columns / V::lanes;
    const auto first = panel * panel_columns, inner = p.inner, whole = inner / 4 * 4;
    const std::uint32_t flip = p.x_is_signed ? 0x80808080 : 0; // the sign bits: 128 is added
    const auto *weights = p.weights + panel * p.panel_bytes;
    typename V::vector sums[rows][vectors];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v)
            sums[r][v] = V::load(p.start + first + v * V::lanes);

    const auto add = [&](const std::byte *from, std::size_t count) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            std::uint32_t four = 0;
            std::memcpy(&four, from + r * inner, count);
            const auto broadcast = V::broadcast(four ^ flip);
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = V::dot(sums[r][v], broadcast, V::load(weights + v * V::lanes * 4));
        }
    };
    for (std::int64_t k = 0; k < whole; k += 4, weights += 4 * panel_columns)
        add(x + k, 4);
    if (whole < inner) add(x + whole, static_cast<std::size_t>(inner - whole));

    const auto columns = p.columns - first < panel_columns ? p.columns - first : panel_columns;
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        alignas(64) std::int32_t all[panel_columns];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v)
            V::store(all + v * V::lanes, sums[r][v]);
        std::memcpy(y + r * p.columns + first, all, static_cast<std::size_t>(columns) * sizeof *y);
    }
}

template <typename V>
void multiply_panels(const few_rows_product &p, const std::byte *x, parallel::range panels, std::int32_t *y) {
    constexpr int most = 4;
    for (auto panel = panels.begin; panel < panels.end; ++panel)
        for (std::int64_t row = 0; row < p.rows; row += most) {
            const auto *from = x + row * p.inner;
            auto *to = y + row * p.columns;
            switch (p.rows - row) {
                case 1: multiply_group<V, 1>(p, from, panel, to); break;
                case 2: multiply_group<V, 2>(p, from, panel, to); break;
                case 3: multiply_group<V, 3>(p, from, panel, to); break;
                default: multiply_group<V, most>(p, from, panel, to); break;
            }
        }
}

} // namespace
} // namespace dynquant::models
