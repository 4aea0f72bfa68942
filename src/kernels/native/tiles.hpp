// Permuted layouts, such as nchw to nhwc: src is dense along one loop, dst along the row. Tiles are turned while
// their elements are 8 bits, and computed along the side on which they are 32, so that every load and store of
// memory is of neighbours.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/native/parameters.hpp"
#include "kernels/native/runs.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

/// Up to so many lines of so many bytes, a cache line each.
struct alignas(64) byte_tile {
    unsigned char lines[tile_size][tile_size];
};

template <typename V>
void transpose(const byte_tile &from, std::int64_t lines, std::int64_t length, byte_tile &to) {
    for (std::int64_t i = 0; i < lines; i += 16)
        for (std::int64_t j = 0; j < length; j += 32)
            V::transpose(from.lines[i] + j, to.lines[j] + i, tile_size);
}

inline void copy_line(void *to, const void *from, std::int64_t length) {
    if (length == tile_size)
        std::memcpy(to, from, tile_size); // of known size: a load and a store
    else
        std::memcpy(to, from, static_cast<std::size_t>(length));
}

/// Where a tile lies: `lines` parallel runs of `length` elements each, and the strides of its parameters.
struct tile_parameters {
    std::int64_t first;
    std::int64_t lines, line_stride; // from line to line
    std::int64_t length, stride;     // along a line
};

/// Calls line(i, formula_at) for each line of a tile.
template <typename V, typename Operator, typename Line>
void for_each_line(parameter_table &table, const call &c, const tile_parameters &p, const Line &line) {
    if (p.stride == 0) {
        prepare(table, c, {p.first, p.line_stride, p.lines});
        Operator::with_formula(table, [&](auto formula_type) {
            for (std::int64_t i = 0; i < p.lines; ++i) {
                const auto all = decltype(formula_type)::from(table, only<V> {i});
                line(
                        i, [&](std::int64_t) -> const auto & { return all; });
            }
        });
    } else {
        for (std::int64_t i = 0; i < p.lines; ++i) {
            prepare(table, c, {p.first + i * p.line_stride, p.stride, p.length});
            Operator::with_formula(table, [&](auto formula_type) {
                line(i, [&table](std::int64_t j) { return decltype(formula_type)::from(table, neighbours<V> {j}); });
            });
        }
    }
}

/// Rows of permuted tensors.
template <typename V, typename Operator>
class tiled_rows {
  public:
    tiled_rows(const call &of, const rectangle &which)
        : c(of)
        , r(which) {}

    void compute() {
        for (auto column = r.column_begin; column < r.column_end; column += tile_size) {
            const auto columns = r.column_end - column < tile_size ? r.column_end - column : tile_size;
            row_walker walker(c.shape->form, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows, walker.advance(rows)) {
                rows = walker.left(r.row_end - row < tile_size ? r.row_end - row : tile_size);
                compute_tile(walker, rows, column, columns);
            }
        }
    }

  private:
    using source = typename Operator::source;
    using destination = typename Operator::destination;

    /// So many rows by so many columns; the walker is at the first row.
    void compute_tile(const row_walker &walker, std::int64_t rows, std::int64_t column, std::int64_t columns) {
        const auto *src = static_cast<const source *>(c.src) + walker.src + column * along.src_stride;
        auto *dst = static_cast<destination *>(c.dst) + walker.dst + column;
        const auto parameter = walker.parameter + column * along.parameter_stride;
        if constexpr (sizeof(destination) == 1) {
            const auto line = [&](std::int64_t i, const auto &formula_at) {
                Operator::template run<storing::cached>(src + i * along.src_stride,
                        reinterpret_cast<destination *>(straight.lines[i]), rows, formula_at);
            };
            for_each_line<V, Operator>(
                    table, c, {parameter, columns, along.parameter_stride, rows, across.parameter_stride}, line);
            transpose<V>(straight, columns, rows, turned);
            for (std::int64_t i = 0; i < rows; ++i)
                copy_line(dst + i * across.dst_stride, turned.lines[i], columns);
        } else {
            for (std::int64_t i = 0; i < columns; ++i)
                copy_line(straight.lines[i], src + i * along.src_stride, rows);
            transpose<V>(straight, columns, rows, turned);
            const auto line = [&](std::int64_t i, const auto &formula_at) {
                Operator::template run<storing::cached>(reinterpret_cast<const source *>(turned.lines[i]),
                        dst + i * across.dst_stride, columns, formula_at);
            };
            for_each_line<V, Operator>(
                    table, c, {parameter, rows, across.parameter_stride, columns, along.parameter_stride}, line);
        }
    }

    const call &c;
    const rectangle &r;
    const axis across = innermost_loop(c.shape->form), along = c.shape->form.row;
    parameter_table table;
    byte_tile straight, turned;
};

} // namespace
} // namespace dynquant::kernels::native
