// The loops of panel_product.hpp over vectors V, see targets/simd.hpp, by V::dot(); amx_int8.cpp has those for tiles.
// `vectors`: of a panel's columns.
#pragma once

#include <cstring>
#include <type_traits>

#include "layers/gemm/isa/end_sums.hpp"
#include "layers/gemm/isa/row_tiles.hpp"
#include "layers/gemm/panel_product.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

/// Up to three bytes, as the low ones.
[[gnu::always_inline]] inline std::uint32_t first_bytes(const std::byte *x, std::int64_t count) {
    std::uint16_t two = 0;
    if ((count & 2) != 0) std::memcpy(&two, x, 2);
    const auto odd = (count & 1) != 0 ? std::to_integer<std::uint32_t>(x[count & 2]) << 8 * (count & 2) : 0U;
    return two | odd;
}

/// The products of rows of x and a panel's excess.
template <typename V, std::uint8_t flip, int rows, std::size_t columns>
[[gnu::always_inline]] inline void add_up_excess(const panel_product &p, const indirect_rows &from,
        std::int64_t first_row, std::int64_t panel, std::int32_t (&to)[rows][columns]) {
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) // not memset(), for which g++ takes slow REP STOS
#pragma GCC unroll 4
        for (std::size_t n = 0; n < columns; n += V::lanes)
            V::store(to[r] + n, V::splat(0));
    for (auto i = p.excess.begin[panel]; i < p.excess.begin[panel + 1]; ++i) {
        const auto e = p.excess.weights[i];
        const auto *const x = from.lines[e.line] + first_row * from.stride + e.index;
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            const auto element = std::to_integer<std::int32_t>(x[r * from.stride]) ^ flip;
            auto &sum = to[r][e.column];
            sum = static_cast<std::int32_t>(
                    static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(element * e.value));
        }
    }
}

/// Multiplies `rows` rows of x by a panel of `packed` vectors, of which those behind `vectors` are padding. The sums
/// stay in registers, so all loops over them must be unrolled.
template <typename V, int packed, int vectors, int rows, bool x_is_signed>
void multiply_rows(const panel_product &p, const indirect_rows &from, std::int64_t first_row, std::int64_t panel,
        std::int32_t *y, std::int64_t y_stride) {
    constexpr std::int64_t panel_columns = packed * V::lanes, step_bytes = 4 * panel_columns;
    // Flipping the sign bit turns s8 into u8, 128 more.
    constexpr std::uint32_t flip = x_is_signed ? 0x80808080 : 0;
    const auto first = panel * panel_columns, inner = p.line_inner, whole = inner / 4 * 4;
    const auto stride = from.stride, offset = first_row * stride;
    // Products of excess, which are computed first: vectors loaded soon after parts of them were stored would wait.
    alignas(64) std::int32_t of_excess[V::dot_saturates ? rows : 1][panel_columns];
    const bool has_excess = V::dot_saturates && p.excess.begin[panel] < p.excess.begin[panel + 1];
    if (has_excess) add_up_excess<V, static_cast<std::uint8_t>(flip)>(p, from, first_row, panel, of_excess);
    // others: a second set of sums, so that few sums are no single chain of V::dot(). With AVX2 the chain is one
    // addition, and they would not fit in registers.
    constexpr bool is_small = rows * vectors <= 8, has_others = is_small && !V::dot_saturates;
    typename V::integers sums[rows][vectors], others[rows][vectors];
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            sums[r][v] = V::load(p.compensation + first + v * V::lanes);
            others[r][v] = V::splat(0);
        }
    if (p.zero_points)
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            const auto sum = V::splat(from.sums[first_row + r]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = V::subtract(sums[r][v], V::multiply(V::load(p.zero_points + first + v * V::lanes), sum));
        }

    /// four_of(offset): the four elements that the weights multiply, of the row at an offset.
    const auto add = [&](auto &to, const std::int8_t *weights, auto four_of) __attribute__((always_inline)) {
        typename V::integers w[vectors]; // loaded once for all rows, where registers suffice
        if constexpr (!V::dot_saturates)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                w[v] = V::load_to_register(weights + v * V::lanes * 4);
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            const auto broadcast = V::splat(static_cast<std::int32_t>(four_of(offset + r * stride) ^ flip));
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                if constexpr (V::dot_saturates) w[v] = V::load_bits(weights + v * V::lanes * 4);
                to[r][v] = V::dot(to[r][v], broadcast, w[v]);
            }
        }
    };
    const auto four_at = [](const std::byte *x) {
        return [x](std::int64_t row) __attribute__((always_inline)) {
            std::uint32_t four = 0;
            std::memcpy(&four, x + row, 4);
            return four;
        };
    };
    for (std::int64_t line = 0; line < p.lines; ++line) {
        const auto *weights = p.weights + panel * p.panel_bytes + line * p.line_bytes;
        const auto *x = from.lines[line];
        const auto *const end = x + whole;
        if constexpr (is_small)
            for (; end - x > 4; x += 8, weights += 2 * step_bytes) {
                add(sums, weights, four_at(x));
                add(has_others ? others : sums, weights + step_bytes, four_at(x + 4));
            }
        for (; x < end; x += 4, weights += step_bytes)
            add(sums, weights, four_at(x));
        if (whole == inner) continue;
        add(
                sums, weights, [&](std::int64_t row) __attribute__((always_inline)) {
                    return first_bytes(x + row, inner - whole);
                });
    }
    if constexpr (has_others)
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = V::add(sums[r][v], others[r][v]);

    if (has_excess)
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = V::add(sums[r][v], V::load(of_excess[r] + v * V::lanes));
    const auto columns = p.columns - first;
    y += first;
    if (const auto &ending = from.ending; !x_is_signed && ending.factors)
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = to_floats<V>(ending, first + v * V::lanes, sums[r][v]);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
        auto *const to = y + r * y_stride;
        if (columns >= panel_columns)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                V::store(to + v * V::lanes, sums[r][v]);
        else // the last columns of the panel are padding
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                if (v * V::lanes < columns) V::store_partial(to + v * V::lanes, columns - v * V::lanes, sums[r][v]);
    }
}

/// The loop over bytes, by V::dot().
template <typename V, int columns_in_vectors>
struct by_bytes {
    static constexpr std::int64_t columns = columns_in_vectors * V::lanes, interleaved = 4;
    static constexpr bool has_excess = V::dot_saturates, reads_signed = false;
    /// Multiplies rows from `row` on by some panels; y: of the first row.
    template <int rows, bool x_is_signed>
    static void multiply(const panel_product &p, const indirect_rows &x, std::int64_t row, parallel::range panels,
            std::int32_t *y, std::int64_t y_stride) {
        constexpr int vectors = columns_in_vectors;
        for (auto panel = panels.begin; panel < panels.end; ++panel) {
            // For AVX2 alone: where there are 32 registers, there are panels of one vector. AVX-VNNI, signed x and
            // other counts of rows would add 30 KB of code.
            if constexpr (V::dot_saturates && !x_is_signed && (rows == panel_tile_rows || rows == 1))
                if (p.columns - panel * columns <= V::lanes) {
                    multiply_rows<V, vectors, 1, rows, x_is_signed>(p, x, row, panel, y, y_stride);
                    continue;
                }
            multiply_rows<V, vectors, vectors, rows, x_is_signed>(p, x, row, panel, y, y_stride);
        }
    }
};

/// Weights per cache block: half of a small L2. All rows use a block before the next one is loaded.
constexpr std::int64_t chunk_bytes = 256 * 1024;

template <typename Loop, bool x_is_signed>
void multiply_chunks(const panel_product &p, const indirect_rows &x, parallel::range panels, std::int32_t *y,
        std::int64_t y_stride) {
    const auto chunk = 1 + chunk_bytes / (p.panel_bytes + 1);
    for (auto begin = panels.begin; begin < panels.end; begin += chunk) {
        const auto end = panels.end - begin < chunk ? panels.end : begin + chunk;
        for_each_row_tile<panel_tile_rows, 5, 4, 3, 2, 1>(x.rows, [&](auto some, std::int64_t row) {
            Loop::template multiply<some, x_is_signed>(p, x, row, {begin, end}, y + row * y_stride, y_stride);
        });
    }
}

template <typename Loop>
void multiply_panels(const panel_product &p, const indirect_rows &x, parallel::range panels, std::int32_t *y,
        std::int64_t y_stride) {
    p.x_is_signed ? multiply_chunks<Loop, true>(p, x, panels, y, y_stride)
                  : multiply_chunks<Loop, false>(p, x, panels, y, y_stride);
}

template <typename Loop>
constexpr panel_loop kind_of() {
    return {multiply_panels<Loop>, Loop::columns, Loop::interleaved, Loop::interleaved, Loop::has_excess,
            Loop::reads_signed};
}

/// Panels of 1 to 4 vectors, or of 2: twice the registers hold twice the sums.
template <typename V>
constexpr panel_loops panels_of = [] {
    if constexpr (V::registers == 32)
        return panel_loops {4,
                {kind_of<by_bytes<V, 1>>(), kind_of<by_bytes<V, 2>>(), kind_of<by_bytes<V, 3>>(),
                        kind_of<by_bytes<V, 4>>()}};
    else
        return panel_loops {1, {kind_of<by_bytes<V, 2>>()}};
}();

} // namespace
} // namespace dynquant::layers
