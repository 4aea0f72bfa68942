// panel_product.hpp by products of 16 bits, which never saturate: half as many in an instruction as of bytes, and no
// excess. For weights whose excess would take longer. Panels interleave two rows; `rows` as in multiply_panels.hpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "layers/isa/multiply_panels.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

/// Elements of a line that are widened at once.
constexpr std::int64_t word_chunk = 64;

template <typename V, int rows>
struct alignas(64) widened_rows {
    std::int16_t words[rows][word_chunk];

    /// `count` elements of each row from `from` on, and zeros up to a whole vector.
    template <bool x_is_signed>
    void load(const std::byte *from, std::int64_t stride, std::int64_t count) {
        constexpr std::int64_t width = 2 * V::lanes;
        for (int r = 0; r < rows; ++r, from += stride) {
            std::int64_t k = 0;
            for (; k + width <= count; k += width)
                V::store(words[r] + k, V::template load_words<x_is_signed>(from + k));
            if (k == count) continue;
            std::byte rest[width] = {};
            std::memcpy(rest, from + k, static_cast<std::size_t>(count - k));
            V::store(words[r] + k, V::template load_words<x_is_signed>(rest));
        }
    }
};

template <typename V, int vectors, int rows, bool x_is_signed>
void multiply_word_rows(const panel_product &p, const rows_of_lines &x, std::int64_t first_row, std::int64_t panel,
        std::int32_t *y, std::int64_t y_stride) {
    constexpr std::int64_t panel_columns = vectors * V::lanes, step_bytes = 2 * panel_columns;
    typename V::integers sums[rows][vectors];
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        unroll<vectors>([&](int v) __attribute__((always_inline)) { sums[r][v] = V::splat(0); });
    });
    widened_rows<V, rows> widened;
    for (std::int64_t line = 0; line < p.lines; ++line) {
        const auto *weights = p.weights + panel * p.panel_bytes + line * p.line_bytes;
        const auto *from = x.lines[line] + first_row * x.stride;
        for (std::int64_t chunk = 0; chunk < p.line_inner; chunk += word_chunk) {
            const auto count = std::min(word_chunk, p.line_inner - chunk);
            widened.template load<x_is_signed>(from + chunk, x.stride, count);
            for (std::int64_t k = 0; k < count; k += 2, weights += step_bytes) {
                typename V::integers w[vectors];
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    w[v] = V::template load_words<true>(weights + v * V::lanes * 2);
                });
                unroll<rows>([&](int r) __attribute__((always_inline)) {
                    std::int32_t pair = 0;
                    std::memcpy(&pair, widened.words[r] + k, sizeof pair);
                    const auto broadcast = V::splat(pair);
                    unroll<vectors>([&](int v) __attribute__((always_inline)) {
                        sums[r][v] = V::dot_pairs(sums[r][v], broadcast, w[v]);
                    });
                });
            }
        }
    }
    const auto first = panel * panel_columns, columns = p.columns - first;
    alignas(64) std::int32_t padded[panel_columns]; // sums of a panel whose last columns are padding
    y += first;
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        auto *const of_row = y + r * y_stride;
        auto *const to = columns < panel_columns ? padded : of_row;
        unroll<vectors>([&](int v) __attribute__((always_inline)) { V::store(to + v * V::lanes, sums[r][v]); });
        if (columns < panel_columns) std::memcpy(of_row, padded, static_cast<std::size_t>(columns) * sizeof *y);
    });
}

/// The loop over words, by V::dot_pairs().
template <typename V, int columns_in_vectors>
struct by_words {
    static constexpr std::int64_t columns = columns_in_vectors * V::lanes, interleaved = 2;
    static constexpr bool has_excess = false;
    template <int rows, bool x_is_signed>
    static void multiply(const panel_product &p, const rows_of_lines &x, std::int64_t row, std::int64_t panel,
            std::int32_t *y, std::int64_t y_stride) {
        multiply_word_rows<V, columns_in_vectors, rows, x_is_signed>(p, x, row, panel, y, y_stride);
    }
};

} // namespace
} // namespace dynquant::layers
