// Rows of all types that have no row functions of their own. Reals are read and bytes written by the formulas as they
// are; what cannot be is converted in the first-level cache, a stretch of columns at a time, so that each step has
// all types at the cost of one.
#pragma once

#include <cstdint>

#include "kernels/native/converted_dequantizer.hpp"
#include "kernels/native/converted_quantizer.hpp"
#include "kernels/native/float_quantizer.hpp"
#include "kernels/native/tiles.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

/// Parameters are prepared so many groups at a time.
constexpr std::int64_t groups_of_span = 256;

/// Computer: converted_quantizer, float_quantizer or converted_dequantizer.
template <typename Computer>
class converted_rows {
  public:
    converted_rows(const call &of, const rectangle &which)
        : c(of)
        , r(which)
        , now(of) {}

    /// A span of columns for all rows, then the next one, so that parameters that rows share are prepared once.
    void compute() {
        const bool in_bands = columns_of_span(r.column_begin) < r.column_end - r.column_begin;
        for_each_band(r, in_bands, [this](const rectangle &band) { compute_band(band); });
    }

  protected:
    /// The span's columns of the row that begins there in src, dst and the parameters.
    void compute_span(std::int64_t src_row, std::int64_t dst_row, std::int64_t parameter) {
        auto run = span.parameters(shape, parameter);
        if (along.parameter_stride == 0) run = {parameter, 0, 1};
        if (run.period > 0) run.count = least(run.count, run.period + columns_of_periods() / shape.repeat);
        now.prepare(run);
        compute_parts(src_row, dst_row);
    }

    /// The same once the table holds its parameters.
    void compute_parts(std::int64_t src_row, std::int64_t dst_row) {
        stretch &part = now.part;
        const auto end = span.begin + span.count;
        for (auto column = span.begin; column < end; column += part.count) {
            if (part.begin != column || part.count == 0) // mostly a row has one part, that of the row before
                part = stretch(shape, column, least(columns_of_part(column), end - column));
            const auto number = part.number - span.number;
            now.base = along.parameter_stride == 0 ? 0 : shape.period > 0 ? number % shape.period : number;
            now.compute_part({src_row + column * along.src_stride, along.src_stride, part.count},
                    {dst_row + column * along.dst_stride, along.dst_stride, part.count});
        }
    }

    const call &c;
    const rectangle &r;
    const layout &shape = *c.shape;
    const axis &along = shape.form.row;
    stretch span {shape, 0, 0};
    Computer now;

  private:
    void compute_band(const rectangle &band) {
        for (auto column = band.column_begin; column < band.column_end; column += span.count) {
            span = stretch(shape, column, least(columns_of_span(column), band.column_end - column));
            row_walker walker(shape.form, band.row_begin);
            for (auto row = band.row_begin; row < band.row_end; ++row, walker.advance(1))
                compute_span(walker.src, walker.dst, walker.parameter);
        }
    }

    /// As many as have parameters in one table: all where parameters come again and again, else whole groups, of which
    /// the first may be a rest.
    std::int64_t columns_of_span(std::int64_t column) const {
        if (along.parameter_stride == 0 || shape.period > 0) return INT64_MAX;
        return shape.repeat == 1 ? table_capacity : shape.repeat * groups_of_span - column % shape.repeat;
    }

    /// The table has room for another period, within which they may begin.
    std::int64_t columns_of_periods() const {
        const auto period = shape.repeat * shape.period;
        return whole_periods(period, least(r.column_end - r.column_begin, uses_of_table * (table_capacity - period)));
    }

    /// As many as have room in the buffers; the rest of a group goes alone.
    std::int64_t columns_of_part(std::int64_t column) const {
        if (along.parameter_stride == 0 && now.in_place()) return INT64_MAX;
        const auto phase = column % shape.repeat;
        if (phase > 0) return shape.repeat - phase;
        return shape.period > 0 ? columns_of_periods() : table_capacity / shape.repeat * shape.repeat;
    }
};

/// Permuted layouts: as many rows as src has neighbours for are turned while they are bytes.
template <typename V>
class converted_tiles : private converted_rows<converted_dequantizer<V, tile_length>> {
  public:
    using base = converted_rows<converted_dequantizer<V, tile_length>>;
    using base::base;

    void compute() {
        for (auto column = r.column_begin; column < r.column_end; column += span.count) {
            span = stretch(shape, column, least(tile_length, r.column_end - column));
            row_walker walker(shape.form, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows) {
                rows = walker.src_neighbours(least(tile_side, r.row_end - row));
                for (std::int64_t i = 0; i < span.count; i += tile_side)
                    turn_columns(walker.src, i, least(tile_side, span.count - i), rows);
                for (std::int64_t i = 0, count = 0; i < rows; i += count, walker.advance(count)) {
                    count = walker.left(rows - i);
                    compute_lines(walker, i, count);
                }
            }
        }
    }

  private:
    using base::along;
    using base::c;
    using base::now;
    using base::r;
    using base::shape;
    using base::span;

    /// So many of the span's columns, from number `first` on, in a block that stays in the first-level cache.
    void turn_columns(std::int64_t src_row, std::int64_t first, std::int64_t columns, std::int64_t rows) {
        for (std::int64_t i = 0; i < columns; ++i)
            read_line({src_row + (span.begin + first + i) * along.src_stride, 1, rows}, block.line[i]);
        turn<V>(block, columns, rows, lines, first);
    }

    /// To a line of the block, which is as long as the longest vector.
    void read_line(const placed &at, unsigned char *to) {
        const auto *const src = static_cast<const unsigned char *>(c.src);
        if (packed.bits == 8)
            copy_line(to, src + at.first, at.count);
        else if (at.first % packed.per_byte() == 0)
            packed_reader<V>::unpack(
                    src + at.first / packed.per_byte(), at.count, packed, reinterpret_cast<std::int8_t *>(to));
        else
            copy_line(to, packed_in.read(c.src, at, packed), at.count);
    }

    /// So many turned rows of the innermost loop, from line `begin` on: as many at a time as have their parameters in
    /// one table, as what is prepared and chosen for a row takes as long as the row.
    void compute_lines(const row_walker &walker, std::int64_t begin, std::int64_t rows) {
        auto of_row = span.parameters(shape, walker.parameter);
        if (of_row.stride == 0) of_row.count = 1;
        const bool shared = across.parameter_stride == 0;
        const auto most = shared ? rows : tile_length / of_row.count;
        for (std::int64_t i = 0, count = 0; i < rows; i += count) {
            count = least(most, rows - i);
            const auto first = of_row.first + i * across.parameter_stride;
            if (shared)
                now.prepare(of_row);
            else
                now.prepare(parameter_block {first, of_row.stride, of_row.count, count, across.parameter_stride});
            now.turned = {lines.line[begin + i], sizeof(lines.line[0]), span.begin, count, across.dst_stride,
                    shared ? 0 : of_row.count};
            this->compute_parts(walker.src, walker.dst + i * across.dst_stride);
        }
    }

    const axis across = innermost_loop(shape.form);
    const packing packed = now.packed();
    byte_block block;
    byte_lines<64> lines;
    packed_reader<V, tile_side> packed_in;
};

/// Not inlined, so that no rows take the stack of others.
template <typename V, typename Rows>
[[gnu::noinline]] void compute_converted(const call &c, const rectangle &r) {
    Rows(c, r).compute();
    if (c.streaming) V::fence();
    V::leave();
}

template <typename V>
void quantize_converted(const call &c, const rectangle &r) {
    compute_converted<V, converted_rows<converted_quantizer<V>>>(c, r);
}

template <typename V>
void quantize_floats(const call &c, const rectangle &r) {
    compute_converted<V, converted_rows<float_quantizer<V>>>(c, r);
}

template <typename V>
void dequantize_converted(const call &c, const rectangle &r) {
    if (c.shape->rows == layout::kind::tiled)
        compute_converted<V, converted_tiles<V>>(c, r);
    else
        compute_converted<V, converted_rows<converted_dequantizer<V>>>(c, r);
}

} // namespace
} // namespace dynquant::kernels::native
