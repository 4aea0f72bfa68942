// panel_product.hpp by products of 16 bits, which never saturate: half as many in an instruction as of bytes, and no
// excess. For weights whose excess would take longer. Panels interleave two rows.
#pragma once

#include <algorithm>
#include <cstring>

#include "elements/ceil_div.hpp"
#include "layers/gemm/isa/multiply_panels.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

/// Rows of x as words, for all panels: each line with a 0 where its elements are odd. As many elements as 12 KB have;
/// of longer rows the next ones follow when all panels have these.
template <typename V, int rows>
struct alignas(64) widened_rows {
    static constexpr std::int64_t most = 1024, width = 2 * V::lanes;
    std::int16_t words[rows][most + width];

    /// Elements [begin, end), both even.
    template <bool x_is_signed>
    void load(const panel_product &p, const indirect_rows &x, std::int64_t row, std::int64_t begin, std::int64_t end) {
        const auto padded = round_up(p.line_inner, 2);
        for (auto at = begin; at < end;) {
            const auto line = at / padded, place = at % padded, count = std::min(p.line_inner - place, end - at);
            for (int r = 0; r < rows; ++r)
                widen<x_is_signed>(x.lines[line] + (row + r) * x.stride + place, count, words[r] + (at - begin));
            at += std::min(padded - place, end - at);
        }
    }

  private:
    /// Widens bytes to words, and adds zeros up to a whole vector.
    template <bool x_is_signed>
    static void widen(const std::byte *from, std::int64_t count, std::int16_t *to) {
        for (; count >= width; count -= width, from += width, to += width)
            V::store(to, V::template load_words<x_is_signed>(from));
        if (count == 0) return;
        std::byte rest[width];
        for (std::int64_t i = 0; i < width; i += 16)
            simd::store_bytes(rest + i, simd::load_bytes(from + i, count - i), 16);
        V::store(to, V::template load_words<x_is_signed>(rest));
    }
};

/// What sums of rows from `row` on and of columns from `first` on become. They are in registers.
template <typename V, int rows, int vectors>
[[gnu::always_inline]] inline void end_tile(const panel_product &p, const indirect_rows &x, std::int64_t row,
        std::int64_t first, typename V::integers (&sums)[rows][vectors]) {
    const auto &ending = x.ending;
    if (ending.initial)
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            const auto initial = V::load(ending.initial + first + v * V::lanes);
            unroll<rows>([&](int r) __attribute__((always_inline)) { sums[r][v] = V::add(sums[r][v], initial); });
        });
    if (p.zero_points)
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            const auto zero_points = V::load(p.zero_points + first + v * V::lanes);
            unroll<rows>([&](int r) __attribute__((always_inline)) {
                sums[r][v] = V::subtract(sums[r][v], V::multiply(zero_points, V::splat(x.sums[row + r])));
            });
        });
    if (ending.factors)
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            unroll<rows>([&](int r) __attribute__((always_inline)) {
                sums[r][v] = to_floats<V>(ending, first + v * V::lanes, sums[r][v]);
            });
        });
}

/// Multiplies elements [begin, end) of rows by a panel. y: of the first row and the panel's first column, which has the
/// sums of the elements before.
template <typename V, int vectors, int rows>
void multiply_words(const panel_product &p, const indirect_rows &from, std::int64_t row, std::int64_t panel,
        const widened_rows<V, rows> &x, std::int64_t begin, std::int64_t end, std::int32_t *y, std::int64_t y_stride) {
    constexpr std::int64_t panel_columns = vectors * V::lanes;
    const auto first = panel * panel_columns, columns = p.columns - first, count = end - begin;
    const auto *weights = p.weights + panel * p.panel_bytes + begin * panel_columns;
    const bool adds = begin > 0, is_last = end * panel_columns == p.panel_bytes;
    alignas(64) std::int32_t padded[rows][panel_columns]; // of a panel whose last columns are padding
    const auto copied = columns < panel_columns ? static_cast<std::size_t>(columns) * sizeof *y : 0;
    auto *const sums_at = copied != 0 ? padded[0] : y;
    const auto stride = copied != 0 ? panel_columns : y_stride;
    if (adds && copied != 0)
        for (int r = 0; r < rows; ++r)
            std::memcpy(padded[r], y + r * y_stride, copied);
    typename V::integers sums[rows][vectors];
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            sums[r][v] = adds ? V::load(sums_at + r * stride + v * V::lanes) : V::splat(0);
        });
    });
    for (std::int64_t k = 0; k < count; k += 2, weights += 2 * panel_columns) {
        typename V::integers w[vectors];
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            w[v] = V::template load_words<true>(weights + v * V::lanes * 2);
        });
        unroll<rows>([&](int r) __attribute__((always_inline)) {
            std::int32_t pair = 0;
            std::memcpy(&pair, x.words[r] + k, sizeof pair);
            const auto broadcast = V::splat(pair);
            unroll<vectors>([&](int v)
                            __attribute__((always_inline)) { sums[r][v] = V::dot_pairs(sums[r][v], broadcast, w[v]); });
        });
    }
    if (is_last) end_tile<V>(p, from, row, first, sums);
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        unroll<vectors>([&](int v)
                        __attribute__((always_inline)) { V::store(sums_at + r * stride + v * V::lanes, sums[r][v]); });
    });
    if (copied != 0)
        for (int r = 0; r < rows; ++r)
            std::memcpy(y + r * y_stride, padded[r], copied);
}

/// The loop over words, by V::dot_pairs().
template <typename V, int vectors>
struct by_words {
    static constexpr std::int64_t columns = vectors * V::lanes, interleaved = 2;
    static constexpr bool has_excess = false, reads_signed = false;
    template <int rows, bool x_is_signed>
    static void multiply(const panel_product &p, const indirect_rows &x, std::int64_t row, parallel::range panels,
            std::int32_t *y, std::int64_t y_stride) {
        widened_rows<V, rows> widened;
        const auto all = p.panel_bytes / columns;
        std::int64_t begin = 0;
        do {
            const auto end = std::min(begin + widened.most, all);
            widened.template load<x_is_signed>(p, x, row, begin, end);
            for (auto panel = panels.begin; panel < panels.end; ++panel)
                multiply_words<V, vectors, rows>(p, x, row, panel, widened, begin, end, y + panel * columns, y_stride);
            begin = end;
        } while (begin < all);
    }
};

template <typename V>
constexpr panel_loop word_panels_of = kind_of<by_words<V, 2>>();

} // namespace
} // namespace dynquant::layers
