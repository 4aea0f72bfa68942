// The driver of loops whose instructions multiply elements of several rows of x: it joins them once, for all panels, so
// that the loop loads them as they are multiplied. Over vectors V, see targets/simd.hpp, of a tile:
//   columns, step          of a panel; the rows of weights that it interleaves
//   reads_signed, flips    elements of x; whether x of the other sign gets its sign bit flipped, for which there is a
//                          compensation
//   slots(rows)            in which rows are joined; the last ones may be the last row again
//   sums<rows>, of(rows), rows_of(sums)    sums as instructions have them, from and to those of rows
//   add<x_is_signed>(sums, x, weights)     the products of a step
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "elements/ceil_div.hpp"
#include "layers/gemm/isa/end_sums.hpp"
#include "layers/gemm/isa/multiply_panels.hpp"

namespace dynquant::layers {
namespace {

/// Of each `step` elements those of all rows. Lines end with padding, which zeros of weights multiply. As many elements
/// as 12 KB have of six rows; of longer rows the next ones follow when all panels have these.
template <int rows, int slots, int step, bool flips>
struct alignas(64) joined_rows {
    static constexpr std::int64_t most = 2048;
    using element_group = std::conditional_t<step == 4, std::uint32_t, std::uint64_t>;
    std::byte bytes[most / step][slots][step];

    /// Elements [begin, end), both multiples of a step.
    void load(const panel_product &p, const indirect_rows &x, std::int64_t row, std::int64_t begin, std::int64_t end) {
        const auto padded = round_up(p.line_inner, step);
        auto *to = bytes;
        for (auto at = begin; at < end;) {
            const auto line = at / padded, place = at % padded, last = std::min(padded, place + end - at);
            const auto *const from = x.lines[line] + row * x.stride;
            const auto join = [&](std::int64_t k, std::size_t count) __attribute__((always_inline)) {
                simd::unroll<slots>([&](int r) __attribute__((always_inline)) {
                    element_group group = 0;
                    std::memcpy(&group, from + std::min(r, rows - 1) * x.stride + k, count);
                    if (flips) group ^= ~element_group {0} / 255 * 128;
                    std::memcpy((*to)[r], &group, step);
                });
                ++to;
            };
            auto k = place;
            for (const auto whole = std::min(p.line_inner, last) - step; k <= whole; k += step)
                join(k, step);
            if (k < last) join(k, static_cast<std::size_t>(p.line_inner - k));
            at += last - place;
        }
    }
};

template <typename V, typename Tile>
struct by_joined_rows {
    static constexpr std::int64_t columns = Tile::columns, interleaved = Tile::step;
    static constexpr bool has_excess = false, reads_signed = Tile::reads_signed;

    template <int rows, bool x_is_signed>
    static void multiply(const panel_product &p, const indirect_rows &x, std::int64_t row, parallel::range panels,
            std::int32_t *y, std::int64_t y_stride) {
        constexpr bool flips = Tile::flips && x_is_signed != reads_signed;
        joined_rows<rows, Tile::slots(rows), Tile::step, flips> joined;
        const auto all = p.panel_bytes / columns;
        std::int64_t begin = 0;
        do {
            const auto end = std::min(begin + joined.most, all);
            joined.load(p, x, row, begin, end);
            for (auto panel = panels.begin; panel < panels.end; ++panel) {
                multiply_panel<rows, x_is_signed>(p, panel, joined, begin, end, y, y_stride);
                if (const auto first = panel * columns; end == all)
                    end_sums<V>(
                            p, x, row, rows, first, std::min(p.columns - first, columns), y - row * y_stride, y_stride);
            }
            begin = end;
        } while (begin < all);
    }

  private:
    /// Multiplies elements [begin, end) by a panel. y: of the first row, which has the sums of the elements before.
    template <int rows, bool x_is_signed, int slots, bool flips>
    static void multiply_panel(const panel_product &p, std::int64_t panel,
            const joined_rows<rows, slots, Tile::step, flips> &x, std::int64_t begin, std::int64_t end, std::int32_t *y,
            std::int64_t y_stride) {
        constexpr int vectors = columns / V::lanes;
        const auto first = panel * columns, count = p.columns - first;
        y += first;
        typename V::integers of_rows[rows][vectors];
        simd::unroll<rows>([&](int r) __attribute__((always_inline)) {
            simd::unroll<vectors>([&](int v) __attribute__((always_inline)) {
                const auto n = v * V::lanes;
                if (begin > 0)
                    of_rows[r][v] = count >= columns ? V::load(y + r * y_stride + n)
                                                     : V::load_partial(y + r * y_stride + n, count - n);
                else
                    of_rows[r][v] = flips ? V::load(p.compensation + first + n) : V::splat(0);
            });
        });
        auto sums = Tile::of(of_rows);
        const auto *weights = p.weights + panel * p.panel_bytes + begin * columns;
        const auto *from = x.bytes;
        for (auto k = begin; k < end; k += Tile::step, ++from, weights += Tile::step * columns)
            Tile::template add<x_is_signed>(sums, *from, weights);
        Tile::to_rows(sums, of_rows);
        simd::unroll<rows>([&](int r) __attribute__((always_inline)) {
            simd::unroll<vectors>([&](int v) __attribute__((always_inline)) {
                const auto n = v * V::lanes;
                if (count >= columns)
                    V::store(y + r * y_stride + n, of_rows[r][v]);
                else
                    V::store_partial(y + r * y_stride + n, count - n, of_rows[r][v]);
            });
        });
    }
};

} // namespace
} // namespace dynquant::layers
