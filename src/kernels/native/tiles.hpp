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

/// A block of bytes that is turned at once.
struct alignas(64) byte_block {
    unsigned char line[tile_side][tile_side];
};

/// The lines that are computed. At a power of two apart they would share a few sets of the first-level cache.
template <std::int64_t Padding>
struct alignas(64) byte_lines {
    unsigned char line[tile_side][tile_length + Padding];
};

/// So many columns of so many lines to as many lines: to the columns of `lines` from `first` on, or from there.
template <typename V>
void turn(const byte_block &from, std::int64_t used_lines, std::int64_t columns, auto &to, std::int64_t first) {
    for (std::int64_t i = 0; i < used_lines; i += 16)
        for (std::int64_t j = 0; j < columns; j += 32)
            V::transpose(from.line[i] + j, sizeof(from.line[0]), to.line[j] + first + i, sizeof(to.line[0]));
}
template <typename V>
void turn(const auto &from, std::int64_t first, std::int64_t used_lines, std::int64_t columns, byte_block &to) {
    for (std::int64_t i = 0; i < used_lines; i += 16)
        for (std::int64_t j = 0; j < columns; j += 32)
            V::transpose(from.line[i] + first + j, sizeof(from.line[0]), to.line[j] + i, sizeof(to.line[0]));
}

/// Up to tile_side bytes.
inline void copy_line(void *to, const void *from, std::int64_t length) {
    if (length == tile_side)
        std::memcpy(to, from, tile_side); // of known size: a load and a store
    else
        std::memcpy(to, from, static_cast<std::size_t>(length));
}

/// Rows of so few elements, such as the channels of images, are joined: each is a copy of so many bytes, which
/// the next one overwrites from its own beginning on.
constexpr std::int64_t narrow_row = 16;

/// So many columns of a tile's lines, dense, and as much as a narrow row beyond the last.
template <typename Tile>
void join(const Tile &from, std::int64_t rows, std::int64_t columns, unsigned char *to) {
    const auto copy = [&](std::int64_t i) { std::memcpy(to + i * columns, from.line[i], narrow_row); };
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) { // a loop of one takes up to a sixth longer where it lies badly
        copy(i);
        copy(i + 1);
        copy(i + 2);
        copy(i + 3);
    }
    for (; i < rows; ++i)
        copy(i);
}

/// Where a tile lies: `lines` parallel runs of `length` elements each, and the strides of its parameters.
struct tile_parameters {
    std::int64_t first;
    std::int64_t lines, line_stride; // from line to line
    std::int64_t length, stride;     // along a line
};

/// Calls line(i, formula_at) for each line of a tile.
template <typename V, typename Operator, typename Line>
void for_each_line(auto &table, const call &c, const tile_parameters &p, const Line &line) {
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

/// Rows of permuted tensors. A tile is long on the side where elements have 32 bits, so that the processor notices
/// that it reads or writes neighbours, and few pages are open at a time.
template <typename V, typename Operator>
class tiled_rows {
  public:
    tiled_rows(const call &of, const rectangle &which)
        : c(of)
        , r(which) {
        table.low_are = Operator::low_are();
    }

    void compute() {
        constexpr auto most_rows = quantizes ? tile_length : tile_side,
                       most_columns = quantizes ? tile_side : tile_length;
        for (auto column = r.column_begin; column < r.column_end; column += most_columns) {
            const auto columns = least(most_columns, r.column_end - column);
            row_walker walker(c.shape->form, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows, walker.advance(rows)) {
                rows = walker.left(least(most_rows, r.row_end - row));
                const auto *src = static_cast<const source *>(c.src) + walker.src + column * along.src_stride;
                auto *dst = static_cast<destination *>(c.dst) + walker.dst + column;
                const auto parameter = walker.parameter + column * along.parameter_stride;
                if constexpr (quantizes)
                    quantize_tile(src, dst, parameter, rows, columns);
                else
                    dequantize_tile(src, dst, parameter, rows, columns);
            }
        }
    }

  private:
    using source = typename Operator::source;
    using destination = typename Operator::destination;
    static constexpr bool quantizes = sizeof(destination) == 1;

    void quantize_tile(
            const source *src, destination *dst, std::int64_t parameter, std::int64_t rows, std::int64_t columns) {
        const auto line = [&](std::int64_t i, const auto &formula_at) {
            Operator::template run<storing::cached>(src + i * along.src_stride,
                    reinterpret_cast<destination *>(lines.line[i]), rows, usual_lead, formula_at);
        };
        for_each_line<V, Operator>(
                table, c, {parameter, columns, along.parameter_stride, rows, across.parameter_stride}, line);
        for (std::int64_t first = 0; first < rows; first += tile_side) {
            const auto count = least(tile_side, rows - first);
            turn<V>(lines, first, columns, count, block);
            store_rows(dst + first * across.dst_stride, count, columns);
        }
    }

    void store_rows(destination *dst, std::int64_t rows, std::int64_t columns) {
        if (!is_narrow()) {
            for (std::int64_t i = 0; i < rows; ++i)
                copy_line(dst + i * across.dst_stride, block.line[i], columns);
            return;
        }
        // The last ones must not overrun.
        const auto last = least(narrow_row / columns + 1, rows), joined = rows - last;
        join(block, joined, columns, reinterpret_cast<unsigned char *>(dst));
        for (auto i = joined; i < rows; ++i)
            std::memcpy(dst + i * columns, block.line[i], static_cast<std::size_t>(columns));
    }

    void dequantize_tile(
            const source *src, destination *dst, std::int64_t parameter, std::int64_t rows, std::int64_t columns) {
        for (std::int64_t first = 0; first < columns; first += tile_side) {
            const auto count = least(tile_side, columns - first);
            for (std::int64_t i = 0; i < count; ++i)
                copy_line(block.line[i], src + (first + i) * along.src_stride, rows);
            turn<V>(block, count, rows, lines, first);
        }
        if (is_narrow() && across.parameter_stride == 0) return dequantize_narrow(dst, parameter, rows, columns);
        const auto line = [&](std::int64_t i, const auto &formula_at) {
            Operator::template run<storing::cached>(reinterpret_cast<const source *>(lines.line[i]),
                    dst + i * across.dst_stride, columns, usual_lead, formula_at);
        };
        for_each_line<V, Operator>(
                table, c, {parameter, rows, across.parameter_stride, columns, along.parameter_stride}, line);
    }

    /// Whether rows of dst are narrow and follow each other.
    bool is_narrow() const {
        return along.extent <= narrow_row && across.dst_stride == along.extent
                && r.column_end - r.column_begin == along.extent;
    }

    /// The lines as one run, whose parameters come again and again.
    void dequantize_narrow(destination *dst, std::int64_t parameter, std::int64_t rows, std::int64_t columns) {
        unsigned char joined[tile_side * narrow_row];
        join(lines, rows, columns, joined);
        const auto prepared = least(tile_side, tile_length / columns) * columns, end = rows * columns;
        prepare(table, c, {parameter, along.parameter_stride, prepared, columns});
        Operator::with_formula(table, [&](auto formula_type) {
            for (std::int64_t first = 0; first < end; first += prepared)
                Operator::template run<storing::cached>(reinterpret_cast<const source *>(joined) + first, dst + first,
                        least(prepared, end - first), usual_lead,
                        [this](std::int64_t i) { return decltype(formula_type)::from(table, neighbours<V> {i}); });
        });
    }

    const call &c;
    const rectangle &r;
    const axis across = innermost_loop(c.shape->form), along = c.shape->form.row;
    parameter_columns<tile_length> table;
    byte_lines<192> lines; // measured: with 64 narrow rows take a tenth longer
    byte_block block;
};

} // namespace
} // namespace dynquant::kernels::native
