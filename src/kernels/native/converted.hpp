// Rows of all types that have no row functions of their own: a stretch of columns is converted to floats or bytes
// in the first-level cache, computed there, and converted to dst's type on its way out. Each step has all types at
// the cost of one, and what they cost is little beside memory.
#pragma once

#include <cstdint>

#include "kernels/native/converting.hpp"
#include "kernels/native/stretch.hpp"
#include "kernels/native/tiles.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

// ---- Operators, with as few formulas as are needed -------------------------------------------------

template <typename V, typename Integer>
struct converted_quantizer {
    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        if constexpr (V::has_fma)
            if (t.inside_guard) return run(corrected_quotient<V, some_zero<V>> {});
        run(division<V> {});
    }
    template <typename FormulaAt>
    static void run(const float *src, Integer *dst, std::int64_t count, const FormulaAt &formula_at) {
        quantize_run<V, storing::cached>(src, dst, count, 0, formula_at);
    }
};

template <typename V, typename Integer>
struct converted_dequantizer {
    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        t.narrow ? run(narrow_difference<V> {}) : run(wide_difference<V> {});
    }
    template <typename FormulaAt>
    static void run(const Integer *src, float *dst, std::int64_t count, const FormulaAt &formula_at) {
        dequantize_run<V, storing::cached>(src, dst, count, formula_at);
    }
};

/// A dense run under one formula, straight to dst: no buffer between. dst begins at a cache line if it is streamed to.
template <typename V, bool Streaming, typename Formula, typename Integer, typename T>
void dequantize_straight(const Formula &formula, const Integer *src, T *dst, std::int64_t count) {
    constexpr std::int64_t n = V::lanes;
    std::int64_t i = 0;
    for (; i + 2 * n <= count; i += 2 * n) {
        const auto a = formula(V::load(src + i)), b = formula(V::load(src + i + n));
        if constexpr (Streaming)
            V::stream(dst + i, a, b);
        else
            V::store(dst + i, a, b);
    }
    for (; i < count; i += n) {
        T rest[n];
        V::store(rest, formula(V::load_partial(src + i, count - i)));
        std::memcpy(dst + i, rest, static_cast<std::size_t>(least(n, count - i)) * sizeof(T));
    }
}

/// 8-bit floats have no zero points: x / s, and q * s.
template <typename V>
struct float8_scaler_base {
    template <typename FormulaAt>
    static void run(const float *src, float *dst, std::int64_t count, const FormulaAt &formula_at) {
        constexpr std::int64_t n = V::lanes;
        std::int64_t i = 0;
        for (; i + n <= count; i += n)
            V::store(dst + i, formula_at(i)(V::load(src + i)));
        if (i < count) V::store(dst + i, formula_at(i)(V::load_partial(src + i, count - i)));
    }
};

template <typename V>
struct float8_quantizer : float8_scaler_base<V> {
    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        if constexpr (V::has_fma)
            if (t.inside_guard) return run(corrected_scaled<V> {});
        run(divided<V> {});
    }
};

template <typename V>
struct float8_dequantizer : float8_scaler_base<V> {
    template <typename Run>
    static void with_formula(const parameter_table &, const Run &run) {
        run(multiplied<V> {});
    }
};

/// Groups of whole lines of every type.
constexpr std::int64_t smallest_group = 32;

constexpr std::int32_t unsigned_nibbles[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::int32_t signed_nibbles[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};

/// Parameters are prepared so many groups at a time.
constexpr std::int64_t groups_of_span = 256;

// ---- Rows ------------------------------------------------------------------------------------------

template <typename V, direction dir>
class converted_rows {
  public:
    converted_rows(const call &of, const rectangle &which)
        : c(of)
        , r(which) {}

    /// A span of columns for all rows, then the next one, so that parameters that rows share are prepared once.
    void compute() {
        if (dir == direction::dequantize && shape.rows == layout::kind::tiled) return compute_tiles();
        for (auto column = r.column_begin; column < r.column_end; column += span.count) {
            span = stretch(shape, column, least(columns_of_span(column), r.column_end - column));
            row_walker walker(shape.form, r.row_begin);
            for (auto row = r.row_begin; row < r.row_end; ++row, walker.advance(1))
                compute_span(walker.src, walker.dst, walker.parameter);
        }
    }

  private:
    /// As many as have parameters in one table: whole periods, or whole groups, of which the first may be a rest.
    std::int64_t columns_of_span(std::int64_t column) const {
        if (along.parameter_stride == 0) return INT64_MAX;
        if (shape.period > 0) return columns_of_part(column);
        return shape.repeat == 1 ? table_capacity : shape.repeat * groups_of_span - column % shape.repeat;
    }

    /// As many as have room in the buffers; the rest of a group goes alone.
    std::int64_t columns_of_part(std::int64_t column) const {
        const auto phase = column % shape.repeat, whole = shape.repeat * (shape.period > 0 ? shape.period : 1);
        return phase > 0 ? shape.repeat - phase : table_capacity / whole * whole;
    }

    /// The span's columns of the row that begins there in src, dst and the parameters.
    void compute_span(std::int64_t src_row, std::int64_t dst_row, std::int64_t parameter) {
        auto run = span.parameters(shape, parameter);
        if (along.parameter_stride == 0) run = {parameter, 0, 1};
        if (dir == direction::dequantize && run.period == 0)
            prepare_difference(run);
        else
            prepare(table, c, run);
        compute_parts(src_row, dst_row, 0);
    }

    /// The same once the table holds its parameters, from column `prepared` on.
    void compute_parts(std::int64_t src_row, std::int64_t dst_row, std::int64_t prepared) {
        const auto end = span.begin + span.count;
        for (auto column = span.begin; column < end; column += part.count) {
            if (part.begin != column || part.count == 0) // mostly a row has one part, that of the row before
                part = stretch(shape, column, least(columns_of_part(column), end - column));
            base = prepared + part.number - span.number;
            const auto from = place_of(src_row, along.src_stride), to = place_of(dst_row, along.dst_stride);
            if constexpr (dir == direction::quantize)
                quantize(from, to);
            else
                dequantize(from, to);
        }
    }

    /// All that (q - zp) * s needs: without divisions a short run is cheap.
    void prepare_difference(const parameter_run &run) {
        if (table.holds == run) return;
        table.holds = run;
        fetch(table, c, {run.first, run.stride, run.count}, 0);
        look_at_differences(run.count);
    }

    void prepare_differences(const parameter_block &rows) {
        table.holds = {0, 0, -1};
        fetch(table, c, rows, 0);
        look_at_differences(rows.rows * rows.count);
    }

    void look_at_differences(std::int64_t count) {
        bounds zero_points;
        for (std::int64_t i = 0; i < count; ++i)
            zero_points.include(table.zero_point[i]);
        table.narrow = zero_points.within(INT32_MIN + 256, INT32_MAX - 256);
        if (count > 1) pad(table, count);
    }

    /// Permuted layouts: as many rows as src has neighbours for are turned while they are bytes.
    void compute_tiles() {
        const axis across = innermost_loop(shape.form);
        for (auto column = r.column_begin; column < r.column_end; column += span.count) {
            span = stretch(shape, column, least(tile_length, r.column_end - column));
            row_walker walker(shape.form, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows, walker.advance(rows)) {
                rows = walker.left(least(tile_side, r.row_end - row));
                for (std::int64_t i = 0; i < span.count; i += tile_side)
                    turn_columns(walker.src, i, least(tile_side, span.count - i), rows);
                compute_tile(walker, across, rows);
            }
        }
    }

    /// So many of the span's columns, from number `first` on, in a block that stays in the first-level cache.
    void turn_columns(std::int64_t src_row, std::int64_t first, std::int64_t columns, std::int64_t rows) {
        for (std::int64_t i = 0; i < columns; ++i)
            read_line({src_row + (span.begin + first + i) * along.src_stride, 1, rows}, block.line[i]);
        turn<V>(block, columns, rows, lines, first);
    }

    /// The turned rows. Parameters are prepared for many at once: a processor waits for what it prepares row by row
    /// until dst has been written.
    void compute_tile(const row_walker &walker, const axis &across, std::int64_t rows) {
        const auto of_row = span.parameters(shape, walker.parameter);
        const bool at_once = of_row.period == 0 && of_row.stride != 0 && across.parameter_stride != 0;
        const auto most = at_once ? table_capacity / of_row.count : 1;
        for (std::int64_t i = 0; i < rows; ++i) {
            turned = lines.line[i];
            const auto dst_row = walker.dst + i * across.dst_stride, next = i * across.parameter_stride;
            if (most > 1) {
                if (i % most == 0)
                    prepare_differences({of_row.first + next, of_row.stride, of_row.count, least(most, rows - i),
                            across.parameter_stride});
                compute_parts(walker.src, dst_row, i % most * of_row.count);
            } else {
                compute_span(walker.src, dst_row, walker.parameter + next);
            }
        }
    }

    /// To a line of the tile, which is as long as the longest vector.
    void read_line(const placed &at, unsigned char *to) {
        if (is_packed() && at.first % 2 == 0)
            return nibble_reader<V>::unpack(static_cast<const unsigned char *>(c.src) + at.first / 2, at.count,
                    c.src_type == data_type::s4, reinterpret_cast<std::int8_t *>(to));
        const void *from = static_cast<const std::int8_t *>(c.src) + at.first;
        if (is_packed()) from = nibbles_in.read(c.src, at, c.src_type == data_type::s4);
        copy_line(to, from, at.count);
    }

    bool is_packed() const { return c.src_type == data_type::s4 || c.src_type == data_type::u4; }

    bool shares_one_parameter() const {
        return along.parameter_stride == 0 || (shape.repeat > 1 && part.phase + part.count <= shape.repeat);
    }

    placed place_of(std::int64_t row_offset, std::int64_t stride) const {
        return {row_offset + part.begin * stride, stride, part.count};
    }

    void quantize(const placed &from, const placed &to) {
        const float *x = reals_in.read(c.src_type, c.src, from);
        switch (c.dst_type) {
            case data_type::u8: return compute_to<converted_quantizer<V, std::uint8_t>>(x, bytes<std::uint8_t>(to), to);
            case data_type::s8: return compute_to<converted_quantizer<V, std::int8_t>>(x, bytes<std::int8_t>(to), to);
            case data_type::s4:
            case data_type::u4:
                compute<converted_quantizer<V, std::int8_t>>(x, byte_buffer.column);
                return nibbles_out.write(byte_buffer.column, c.dst, to, c.dst_type == data_type::s4);
            default: break;
        }
        compute<float8_quantizer<V>>(x, real_buffer.column);
        auto *const result = bytes<std::uint8_t>(to);
        if (c.dst_type == data_type::f8_e4m3)
            narrow_float8<float8_e4m3>(real_buffer.column, part.count, result);
        else
            narrow_float8<float8_e5m2>(real_buffer.column, part.count, result);
        if (to.stride != 1) scatter(result, c.dst, to);
    }

    /// The part's integers as bytes.
    template <typename Integer>
    const Integer *integers(const placed &from) {
        if (turned) return reinterpret_cast<const Integer *>(turned + (part.begin - span.begin));
        if constexpr (sizeof(Integer) == sizeof(std::int8_t) && Integer(-1) < Integer(0))
            if (is_packed()) return nibbles_in.read(c.src, from, c.src_type == data_type::s4);
        return gather(c.src, from, reinterpret_cast<Integer *>(byte_buffer.column));
    }

    void dequantize(const placed &from, const placed &to) {
        if (dequantizes_straight(to)) {
            if (c.dst_type == data_type::f16) return dequantize_to(static_cast<half *>(c.dst) + to.first, from);
            if (c.dst_type == data_type::bf16) return dequantize_to(static_cast<brain *>(c.dst) + to.first, from);
            return dequantize_to(static_cast<float *>(c.dst) + to.first, from);
        }
        auto *const result = real_buffer.column;
        if (c.src_type == data_type::u8)
            compute<converted_dequantizer<V, std::uint8_t>>(integers<std::uint8_t>(from), result);
        else if (c.src_type == data_type::s8 || is_packed())
            compute<converted_dequantizer<V, std::int8_t>>(integers<std::int8_t>(from), result);
        else
            compute<float8_dequantizer<V>>(reals_in.read(c.src_type, c.src, from), result);
        reals_out.write(result, c.dst_type, c.dst, to, c.streaming);
    }

    /// Whether integers go straight to a dense dst: under one parameter, or in groups of whole lines.
    bool dequantizes_straight(const placed &to) const {
        return to.stride == 1 && table.narrow && c.src_type != data_type::f8_e4m3 && c.src_type != data_type::f8_e5m2
                && (shares_one_parameter() || shape.repeat % smallest_group == 0)
                && (!c.streaming || begins_a_line(to.first));
    }

    bool begins_a_line(std::int64_t first) const {
        const auto line = c.dst_type == data_type::f32 ? line_of<float> : line_of<half>;
        return reinterpret_cast<std::uintptr_t>(c.dst) % 64 == 0 && first % line == 0;
    }

    template <typename T>
    void dequantize_to(T *dst, const placed &from) {
        c.streaming ? dequantize_to<true>(dst, from) : dequantize_to<false>(dst, from);
    }

    template <bool Streaming, typename T>
    void dequantize_to(T *dst, const placed &from) {
        if (c.src_type == data_type::u8) return dequantize_groups<Streaming>(integers<std::uint8_t>(from), dst);
        if constexpr (V::looked_up > 0)
            if (is_packed() && !turned && from.stride == 1 && from.first % 2 == 0)
                return look_up_groups<Streaming>(static_cast<const unsigned char *>(c.src) + from.first / 2, dst);
        dequantize_groups<Streaming>(integers<std::int8_t>(from), dst);
    }

    /// Calls f(parameter, first, count()) for each group of the part, or for all of it at once.
    template <typename F>
    void for_each_group(const F &f) const {
        const auto size = shares_one_parameter() ? part.count : shape.repeat;
        auto parameter = along.parameter_stride == 0 ? 0 : base;
        std::int64_t i = 0;
        if (size == smallest_group) // often met, and too short for a loop
            for (; i + smallest_group <= part.count; i += smallest_group, ++parameter)
                f(parameter, i, [] { return smallest_group; });
        for (; i < part.count; i += size, ++parameter)
            f(parameter, i, [&] { return least(size, part.count - i); });
    }

    template <bool Streaming, typename Integer, typename T>
    void dequantize_groups(const Integer *src, T *dst) const {
        for_each_group([=, this](std::int64_t parameter, std::int64_t i, auto count) {
            const auto formula = narrow_difference<V>::from(table, only<V> {parameter});
            dequantize_straight<V, Streaming>(formula, src + i, dst + i, count());
        });
    }

    /// 4-bit elements by a table for each group; they begin with a byte.
    template <bool Streaming, typename T>
    void look_up_groups(const unsigned char *packed, T *dst) const {
        constexpr std::int64_t step = V::looked_up, page = 2048;
        const auto *const nibbles = c.src_type == data_type::s4 ? signed_nibbles : unsigned_nibbles;
        for_each_group([=, this](std::int64_t parameter, std::int64_t begin, auto count) {
            const auto formula = narrow_difference<V>::from(table, only<V> {parameter});
            const auto values = V::table_of(dst, formula(V::load(nibbles)));
            const auto end = begin + count();
            std::int64_t i = begin;
            for (; i + step <= end; i += step) {
                __builtin_prefetch(packed + i / 2 + page);
                V::template look_up<Streaming>(packed + i / 2, values, dst + i);
            }
            if (i == end) return;
            unsigned char rest[step / 2] = {};
            alignas(64) T results[step];
            std::memcpy(rest, packed + i / 2, static_cast<std::size_t>((end - i + 1) / 2));
            V::template look_up<false>(rest, values, results);
            std::memcpy(dst + i, results, static_cast<std::size_t>(end - i) * sizeof(T));
        });
    }

    /// Where bytes are computed to: dst itself if they are neighbours there.
    template <typename Integer>
    Integer *bytes(const placed &to) {
        if (to.stride == 1) return static_cast<Integer *>(c.dst) + to.first;
        return reinterpret_cast<Integer *>(byte_buffer.column);
    }

    template <typename Operator, typename Integer>
    void compute_to(const float *src, Integer *dst, const placed &to) {
        compute<Operator>(src, dst);
        if (to.stride != 1) scatter(dst, c.dst, to);
    }

    template <typename Operator, typename From, typename To>
    void compute(const From *from, To *to) {
        Operator::with_formula(
                table, [&](auto formula) { this->template compute_by<Operator, decltype(formula)>(from, to); });
    }

    template <typename Operator, typename Formula, typename From, typename To>
    void compute_by(const From *from, To *to) {
        const auto *const parameter_of = shape.parameter_of;
        const auto number = base;
        if (shares_one_parameter()) {
            const auto formula = Formula::from(table, only<V> {along.parameter_stride == 0 ? 0 : base});
            Operator::run(from, to, part.count, [&](std::int64_t) -> const Formula & { return formula; });
        } else if (shape.repeat == 1) {
            Operator::run(from, to, part.count,
                    [=, this](std::int64_t i) { return Formula::from(table, neighbours<V> {number + i}); });
        } else if (shape.repeat % V::lanes == 0) {
            Operator::run(from, to, part.count,
                    [=, this](std::int64_t i) { return Formula::from(table, only<V> {number + parameter_of[i]}); });
        } else {
            Operator::run(from, to, part.count, [=, this](std::int64_t i) {
                const auto first = parameter_of[i];
                const auto index = V::subtract(V::load(parameter_of + i), V::splat(first));
                return Formula::from(table, picked<V, false> {number + first, index});
            });
        }
    }

    const call &c;
    const rectangle &r;
    const layout &shape = *c.shape;
    const axis &along = shape.form.row;
    stretch span {shape, 0, 0}, part = span;
    const unsigned char *turned = nullptr; // the span's bytes, where src is turned
    std::int64_t base = 0;                 // where the part's parameters are in the table
    byte_block block;
    byte_lines lines;
    parameter_table table;
    real_reader<V> reals_in;
    nibble_reader<V> nibbles_in;
    column_buffer<float> real_buffer;
    column_buffer<std::int8_t> byte_buffer;
    real_writer<V> reals_out;
    nibble_writer<V> nibbles_out;
};

template <typename V, direction dir>
void converted(const call &c, const rectangle &r) {
    converted_rows<V, dir>(c, r).compute();
    if (c.streaming) V::fence();
    V::leave();
}

} // namespace
} // namespace dynquant::kernels::native
