// The row algorithms, written once and compiled for each instruction set.
//
// An instruction set is a type V of primitives (isa/*.hpp):
// - reals, integers: `lanes` binary32 or s32 numbers; a block is four of each.
// - load, store; stream, past the caches to a multiple of its size, and fence after it.
// - load_partial, store_partial, for the end of a row: the first `count` lanes, or none. u32 is loaded as s32, 2^31
// less.
// - pick: a number for each lane, by index.
// - arithmetic, each operation correctly rounded in the rounding mode of the control word.
// - min(bound, x), max(bound, x): NaN in x passes.
// - integer arithmetic, on the bits of reals too; select_less(a, b, then, otherwise), which compares with sign.
// - store, stream and store_partial of four vectors of reals to integers of 8 and 16 bits, which round and saturate;
//   where it adds_words, of reals with zero points to 8 bits, added once they are words; and of integers to 32 bits
//   and, as bits, to bytes; saturated_sum of a real, rounded, and a zero point of 32 bits.
// - transpose: 8-bit elements, 16 rows of 32.
// - load, store and stream of f16 and bf16 (half, brain); unpack and pack of `nibbles` 4-bit elements.
// - leave: what the processor wants before code of another instruction set.
// Everything here has internal linkage, so that no code of one instruction set can be linked into another.
#pragma once

#include <cstdint>

#include "kernels/native/converted.hpp"
#include "kernels/native/operators.hpp"
#include "kernels/native/runs.hpp"
#include "kernels/native/stretch.hpp"
#include "kernels/native/tiles.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

/// Rows that are dense and lie under one parameter each.
template <typename V, typename Operator>
class uniform_rows {
  public:
    uniform_rows(const call &of, const rectangle &r)
        : c(of)
        , loop(innermost_loop(of.shape->form))
        , src(static_cast<const source *>(of.src) + r.column_begin)
        , dst(static_cast<destination *>(of.dst) + r.column_begin)
        , width(r.column_end - r.column_begin)
        , row_begin(r.row_begin)
        , row_end(r.row_end) {
        table.low_are = Operator::low_are();
    }

    void compute() {
        const auto longest = loop.parameter_stride == 0 ? INT64_MAX : goes_alone() ? 1 : table_capacity;
        row_walker walker(c.shape->form, row_begin);
        for (auto row = row_begin; row < row_end; row += count, walker.advance(count)) {
            count = walker.left(least(longest, row_end - row));
            compute_like(walker, row_end - row);
        }
    }

  private:
    using source = typename Operator::source;
    using destination = typename Operator::destination;

    /// Whether each row is long enough for a formula of its own kind.
    bool goes_alone() const { return width >= worth_looking; }

    /// `count` rows by the same kind of formula. Lambdas hold one pointer: more would be copied for every call.
    void compute_like(const row_walker &at, std::int64_t rows_left) {
        from = src + at.src;
        to = dst + at.dst;
        if (loop.parameter_stride == 0 || goes_alone()) {
            prepare_one(table, c, at.parameter);
            Operator::with_constant_formula(table, width * count, [this](auto formula) {
                this->template compute_by<decltype(formula)>([](std::int64_t) { return 0; });
            });
        } else {
            const auto loops = count == loop.extent ? least(at.loops_left(), rows_left / count) : 1;
            first = tables.find(
                    table, c, {at.parameter, loop.parameter_stride, count}, loops - 1, next.parameter_stride);
            Operator::with_formula(table, [this](auto formula) {
                this->template compute_by<decltype(formula)>([](std::int64_t i) { return i; });
            });
        }
    }

    template <typename Formula, typename ColumnOf>
    void compute_by(const ColumnOf &column_of) {
        // Where rows follow each other, all but the last may overrun their ends.
        const bool joined = loop.src_stride == width && loop.dst_stride == width;
        if constexpr (V::lanes > 1)
            if (joined && width == usual_block && is_in_step()) return compute_blocks<Formula>(column_of);
        const auto last = joined ? (widest_block + width - 1) / width : count;
        const auto overrunning = count > last ? count - last : 0;
        // Their ends cost joined short rows more than streaming gains.
        const bool worth_streaming = !joined || width % widest_block == 0 || width >= 1024;
        if (c.streaming && worth_streaming) return run_rows<storing::streaming, Formula>(0, count, column_of);
        run_rows<storing::overrunning, Formula>(0, overrunning, column_of);
        run_rows<storing::cached, Formula>(overrunning, count, column_of);
    }

    /// Whether streaming stores would be of whole vectors.
    bool is_in_step() const {
        constexpr auto stored = sizeof(destination) == 1 ? 4 * V::lanes : V::lanes;
        return !c.streaming || unaligned_head<stored>(to, stored) == 0;
    }

    template <typename Formula, typename ColumnOf>
    void compute_blocks(const ColumnOf &column_of) {
        const auto formula_of = [&, begin = first](std::int64_t i) {
            return Formula::from(table, only<V> {column_of(begin + i)});
        };
        if (c.streaming)
            Operator::template run_blocks<storing::streaming>(from, to, count, usual_lead, formula_of);
        else
            Operator::template run_blocks<storing::cached>(from, to, count, usual_lead, formula_of);
    }

    template <storing Stored, typename Formula, typename ColumnOf>
    void run_rows(std::int64_t begin, std::int64_t end, const ColumnOf &column_of) {
        const auto *in = from + begin * loop.src_stride;
        auto *out = to + begin * loop.dst_stride;
        const auto src_stride = loop.src_stride, dst_stride = loop.dst_stride, length = width;
        for (auto i = first + begin, past = first + end; i < past; ++i, in += src_stride, out += dst_stride) {
            const auto formula = Formula::from(table, only<V> {column_of(i)});
            Operator::template run<Stored>(
                    in, out, length, usual_lead, [&](std::int64_t) -> const Formula & { return formula; });
        }
    }

    const call &c;
    const axis loop, next = next_loop(c.shape->form);
    const source *src, *from = nullptr;
    destination *dst, *to = nullptr;
    const std::int64_t width, row_begin, row_end;
    std::int64_t count = 0, first = 0; // rows, and the column of the first one's parameters
    parameter_table table;
    successive_runs tables;
};

/// A stretch of a row as a dense run: in place if it is one, else copied to or from the stack.
template <typename T>
struct staged {
    T buffer[table_capacity];

    const T *gather(const T *from, std::int64_t stride, std::int64_t count) {
        if (stride == 1) return from;
        for (std::int64_t i = 0; i < count; ++i)
            buffer[i] = from[i * stride];
        return buffer;
    }
    void scatter(T *to, std::int64_t stride, std::int64_t count) const {
        for (std::int64_t i = 0; i < count; ++i)
            to[i * stride] = buffer[i];
    }
};

/// So many 32-bit elements stay in the second-level cache of most processors.
constexpr std::int64_t second_level = 256 * 1024;

/// The same where the table is of whole blocks: it gains less by being longer, and many short ones, those of blocks
/// along the first axis, lose. Measured: rows of 2048 to 8192 columns take up to a third longer with an eighth.
constexpr std::int64_t uses_of_blocks = 32;

/// A table of repeated parameters is expanded when so many rows use it.
constexpr std::int64_t worth_expanding = 4;

/// Any other rows: parameters alongside, or strides. Columns are taken a table of parameters at a time, for
/// all rows, so that a table is prepared once.
template <typename V, typename Operator>
class alongside_rows {
  public:
    alongside_rows(const call &of, const rectangle &which)
        : c(of)
        , r(which) {
        table.low_are = Operator::low_are();
    }

    void compute() {
        const auto width = r.column_end - r.column_begin, period = shape.period * shape.repeat;
        const auto uses_of = period % widest_block == 0 ? uses_of_blocks : uses_of_table;
        const auto longest = least(width, period > 0 ? whole_periods(period, width, uses_of) : table_capacity);
        const auto uses = period > 0 ? width / longest : r.row_end - r.row_begin;
        expanding = shape.repeat > 1 && uses >= worth_expanding && innermost_loop(shape.form).parameter_stride == 0;
        for (auto column = r.column_begin; column < r.column_end; column += part.count * parts) {
            const auto left = r.column_end - column;
            part = stretch(shape, column, least(longest, left));
            parts = period > 0 ? left / part.count : 1; // which all have the same parameters
            parameter_of = shape.parameter_of + part.phase;
            row_walker walker(shape.form, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows, walker.advance(rows)) {
                rows = parts > 1 ? 1 : walker.left(r.row_end - row);
                compute_loop(walker, rows, r.row_end - row);
            }
        }
    }

  private:
    using source = typename Operator::source;
    using destination = typename Operator::destination;

    /// The columns of so many rows of the innermost loop, or those of all parts of one row.
    void compute_loop(const row_walker &at, std::int64_t rows, std::int64_t rows_left) {
        const auto next_part = axis {parts, part.count * along.src_stride, part.count * along.dst_stride, 0};
        const axis loop = parts > 1 ? next_part : innermost_loop(shape.form);
        const auto count = parts > 1 ? parts : rows;
        from = static_cast<const source *>(c.src) + at.src + part.begin * along.src_stride;
        to = static_cast<destination *>(c.dst) + at.dst + part.begin * along.dst_stride;
        const auto more_loops = rows == loop.extent ? least(at.loops_left(), rows_left / rows) - 1 : 0;
        std::int64_t taken = 0;
        for (std::int64_t i = 0; i < count;
                i += taken, from += taken * loop.src_stride, to += taken * loop.dst_stride) {
            const auto parameters = part.parameters(shape, at.parameter + i * loop.parameter_stride);
            if (shape.period > 0 || shape.repeat > 1)
                find_repeated(parameters);
            else if (loop.parameter_stride != 0)
                first = tables.find(table, c, parameters, count - i - 1, loop.parameter_stride);
            else
                first = tables.find(table, c, parameters, more_loops, next.parameter_stride);
            taken = go_together(loop) ? count - i : 1;
            Operator::with_formula(table, [&](auto formula) {
                if (taken > 1)
                    this->template compute_together<decltype(formula)>(loop, taken);
                else
                    this->template compute_by<decltype(formula)>();
            });
        }
    }

    void find_repeated(const parameter_run &parameters) {
        if (table.holds == parameters) return;
        prepare(table, c, parameters);
        if (expanding) expand();
    }

    /// Whether rows share the loading of their parameters, which in the caches takes longer than that of src.
    /// Rows of other lengths would lie across cache lines, which costs as much.
    bool go_together(const axis &loop) const {
        return shape.repeat == 1 && loop.parameter_stride == 0 && along.src_stride == 1 && along.dst_stride == 1
                && loop.src_stride % V::lanes == 0 && loop.dst_stride % V::lanes == 0 && !c.streaming;
    }

    /// Memory takes several rows at once more slowly than one, and more so where they are written than read.
    template <typename Formula>
    void compute_together(const axis &loop, std::int64_t rows) {
        constexpr bool widens = sizeof(destination) > sizeof(source);
        const bool is_near = shape.form.rows() * along.extent <= second_level;
        std::int64_t row = 0;
        if constexpr (V::lanes == 16 && !widens) // and registers enough for four
            if (is_near) compute_some<4, Formula>(loop, row, rows);
        if (is_near || !widens) compute_some<2, Formula>(loop, row, rows);
        compute_some<1, Formula>(loop, row, rows);
    }

    template <int Count, typename Formula>
    void compute_some(const axis &loop, std::int64_t &row, std::int64_t rows) {
        for (; row + Count <= rows; row += Count)
            Operator::template run_together<Count>(from + row * loop.src_stride, loop.src_stride,
                    to + row * loop.dst_stride, loop.dst_stride, part.count,
                    [this, begin = first](std::int64_t i) { return Formula::from(table, neighbours<V> {begin + i}); });
    }

    template <typename Formula>
    void compute_by() {
        // Whether vectors begin at multiples of their lanes: a run aligns its stores to 32-bit elements.
        const bool in_step = part.phase == 0 && !c.streaming
                && (sizeof(destination) == 1 || unaligned_head<V::lanes>(to, V::lanes) == 0);
        const auto begin = first; // which stores through a pointer to bytes cannot change
        if (expanding)
            compute_part([this](std::int64_t i) { return Formula::from(table, neighbours<V> {i}); });
        else if (shape.repeat == 1)
            compute_part([=, this](std::int64_t i) { return Formula::from(table, neighbours<V> {begin + i}); });
        else if (shape.repeat % V::lanes == 0 && in_step)
            compute_part([this](std::int64_t i) { return Formula::from(table, only<V> {parameter_of[i]}); });
        else if ((V::lanes - 2) / shape.repeat < 3)
            compute_part([this](std::int64_t i) { return Formula::from(table, pick<true>(i)); });
        else
            compute_part([this](std::int64_t i) { return Formula::from(table, pick<false>(i)); });
    }

    /// Gives each column its own copy of its parameters, which lie in its own place or before it: from the last on.
    void expand() {
        for (auto i = (part.count - 1) / V::lanes * V::lanes; i >= 0; i -= V::lanes) {
            const auto take = pick<false>(i);
            V::store(table.scale + i, take(table.scale));
            V::store(table.reciprocal + i, take(table.reciprocal));
            V::store(table.limit + i, take(table.limit));
            V::store(table.zero + i, take(table.zero));
            V::store(table.zero_point + i, take(table.zero_point));
            if (table.has_low()) V::store(table.low + i, take(table.low));
        }
    }

    template <bool Near>
    picked<V, Near> pick(std::int64_t i) const {
        const auto base = parameter_of[i];
        return {base, V::subtract(V::load(parameter_of + i), V::splat(base))};
    }

    template <typename FormulaAt>
    void compute_part(const FormulaAt &formula_at) {
        const auto *in = staged_in.gather(from, along.src_stride, part.count);
        // After a part of a row comes the same part of the next one.
        const auto lead =
                part.count < along.extent && shape.period == 0 ? innermost_loop(shape.form).src_stride : usual_lead;
        if (along.dst_stride != 1) {
            Operator::template run<storing::cached>(in, staged_out.buffer, part.count, lead, formula_at);
            staged_out.scatter(to, along.dst_stride, part.count);
        } else if (c.streaming) {
            Operator::template run<storing::streaming>(in, to, part.count, lead, formula_at);
        } else {
            Operator::template run<storing::cached>(in, to, part.count, lead, formula_at);
        }
    }

    const call &c;
    const rectangle &r;
    const layout &shape = *c.shape;
    const axis &along = shape.form.row;
    const axis next = next_loop(shape.form);
    stretch part {shape, 0, 0};
    std::int64_t parts = 1, first = 0; // and the table's column that the part begins with
    const std::int32_t *parameter_of = nullptr;
    const source *from = nullptr;
    destination *to = nullptr;
    bool expanding = false;
    parameter_table table;
    successive_runs tables;
    staged<source> staged_in;
    staged<destination> staged_out;
};

// Not inlined, so that no rows take the stack of others.

template <typename V, typename Operator>
[[gnu::noinline]] void compute_uniform(const call &c, const rectangle &r) {
    uniform_rows<V, Operator>(c, r).compute();
}

template <typename V, typename Operator>
[[gnu::noinline]] void compute_tiled(const call &c, const rectangle &r) {
    tiled_rows<V, Operator>(c, r).compute();
}

template <typename V, typename Operator>
[[gnu::noinline]] void compute_alongside(const call &c, const rectangle &r) {
    const bool in_bands = c.shape->period == 0 && r.column_end - r.column_begin > table_capacity;
    for_each_band(r, in_bands, [&](const rectangle &band) { alongside_rows<V, Operator>(c, band).compute(); });
}

template <typename V, typename Operator>
void rows(const call &c, const rectangle &r) {
    switch (c.shape->rows) {
        case layout::kind::uniform: compute_uniform<V, Operator>(c, r); break;
        case layout::kind::alongside: compute_alongside<V, Operator>(c, r); break;
        case layout::kind::tiled: compute_tiled<V, Operator>(c, r); break;
    }
    if (c.streaming) V::fence(); // streaming stores are not ordered before what tells other threads that this is done
    V::leave();
}

/// f32 to 8-bit integers by a rule.
template <typename V, typename Integer, typename Rule>
constexpr row_function quantizing = rows<V, quantizer<V, Integer, Rule>>;

template <typename V>
constexpr row_functions rows_for(row_function dequantize_converted, row_function quantize_floats,
        const requantize_row_functions &requantize, const onnx_row_functions &onnx) {
    using s8 = std::int8_t;
    using u8 = std::uint8_t;
    return {quantizing<V, s8, strict_rule<V>>, quantizing<V, u8, strict_rule<V>>, quantizing<V, s8, fpmath_any_rule<V>>,
            quantizing<V, u8, fpmath_any_rule<V>>, quantizing<V, s8, onnx_rule<V>>, quantizing<V, u8, onnx_rule<V>>,
            rows<V, dequantizer<V, s8>>, rows<V, dequantizer<V, u8>>, quantize_converted<V>, dequantize_converted,
            quantize_floats, &requantize, &onnx};
}

} // namespace
} // namespace dynquant::kernels::native
