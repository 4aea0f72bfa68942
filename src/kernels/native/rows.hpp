// The row algorithms, written once and compiled for each instruction set.
//
// An instruction set is a type V of primitives (isa/*.hpp):
// - reals, integers: `lanes` binary32 or s32 numbers; a block is four of each.
// - load, store; stream, past the caches to a multiple of its size, and fence after it.
// - load_partial, store_partial, for the end of a row: the first `count` lanes, or none.
// - pick: a number for each lane, by index.
// - arithmetic, each operation correctly rounded in the rounding mode of the control word.
// - min(bound, x): NaN in x passes.
// - transpose: 8-bit elements, 16 rows of 32.
// - leave: what the processor wants before code of another instruction set.
// Everything here has internal linkage, so that no code of one instruction set can be linked into another.
#pragma once

#include <cstdint>

#include "kernels/native/runs.hpp"
#include "kernels/native/tiles.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

inline std::int64_t least(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
}

/// Rows that are dense and lie under one parameter each.
template <typename V, typename Operator, storing Storing>
void uniform_rows(const call &c, const rectangle &r) {
    const auto &form = c.shape->form;
    const axis loop = innermost_loop(form);
    const auto *src = static_cast<const typename Operator::source *>(c.src) + r.column_begin;
    auto *dst = static_cast<typename Operator::destination *>(c.dst) + r.column_begin;
    const auto width = r.column_end - r.column_begin;
    const auto longest = loop.parameter_stride == 0 ? INT64_MAX : width < worth_two_parts ? table_capacity : 1;
    const bool joined = loop.src_stride == width && loop.dst_stride == width;
    const auto within_a_block = joined ? (widest_block + width - 1) / width : INT64_MAX;

    row_walker walker(form, r.row_begin);
    parameter_table table;
    std::int64_t count = 0; // rows by the same formula
    for (auto row = r.row_begin; row < r.row_end; row += count, walker.advance(count)) {
        count = walker.left(least(longest, r.row_end - row));
        const auto parameters = loop.parameter_stride == 0 ? 1 : count;
        prepare(table, c, {walker.parameter, loop.parameter_stride, parameters});
        const auto run = [&](auto formula_type) {
            using formula = decltype(formula_type);
            const auto *from = src + walker.src;
            auto *to = dst + walker.dst;
            for (std::int64_t i = 0; i < count; ++i, from += loop.src_stride, to += loop.dst_stride) {
                const auto all = formula::from(table, only<V> {parameters == 1 ? 0 : i});
                const auto formula_at = [&](std::int64_t) { return all; };
                if (Storing == storing::cached && count - i > within_a_block)
                    Operator::template run<storing::overrunning>(from, to, width, formula_at);
                else
                    Operator::template run<Storing>(from, to, width, formula_at);
            }
        };
        if (parameters == 1)
            Operator::with_constant_formula(table, width * count, run);
        else
            Operator::with_formula(table, run);
    }
}

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

/// Finds the parameters of a stretch of columns.
struct columns {
    const layout &shape;
    std::int64_t begin, count;

    std::int64_t phase() const { return begin % shape.repeat; }

    parameter_run parameters(std::int64_t of_row) const {
        const auto stride = shape.form.row.parameter_stride;
        const auto number = begin / shape.repeat, needed = (phase() + count - 1) / shape.repeat + 1;
        if (shape.period > 0) return {of_row, stride, needed, shape.period, number % shape.period};
        return {of_row + number * stride, stride, needed};
    }
};

/// For columns that share parameters.
template <typename V, bool Near, typename Formula>
auto formulas_picked(const parameter_table &table, const std::int32_t *parameter_of) {
    return [=, &table](std::int64_t i) {
        const auto first = parameter_of[i];
        const auto index = V::subtract(V::load(parameter_of + i), V::splat(first));
        return Formula::from(table, picked<V, Near> {first, index});
    };
}

/// Any other rows: parameters alongside, or strides. Columns are taken a table of parameters at a time, for
/// all rows, so that a table is prepared once.
template <typename V, typename Operator, storing Storing>
void alongside_rows(const call &c, const rectangle &r) {
    const layout &shape = *c.shape;
    const axis &along = shape.form.row;
    const auto period = shape.period * shape.repeat;
    const auto longest = period > 0 ? table_capacity / period * period : table_capacity;
    const auto *src = static_cast<const typename Operator::source *>(c.src);
    auto *dst = static_cast<typename Operator::destination *>(c.dst);
    parameter_table table;
    staged<typename Operator::source> in;
    staged<typename Operator::destination> out;

    const auto run = [&](const row_walker &walker, const columns &part, const auto &formula_at) {
        const auto *from = in.gather(src + walker.src + part.begin * along.src_stride, along.src_stride, part.count);
        auto *to = dst + walker.dst + part.begin * along.dst_stride;
        if (along.dst_stride == 1) {
            Operator::template run<Storing>(from, to, part.count, formula_at);
        } else {
            Operator::template run<storing::cached>(from, out.buffer, part.count, formula_at);
            out.scatter(to, along.dst_stride, part.count);
        }
    };

    std::int64_t next = 0;
    for (auto column = r.column_begin; column < r.column_end; column = next) {
        next = least(column + longest, r.column_end);
        const columns part = {shape, column, next - column};
        const auto *parameter_of = shape.parameter_of + part.phase();
        row_walker walker(shape.form, r.row_begin);
        for (auto row = r.row_begin; row < r.row_end;) {
            const auto parameter = walker.parameter;
            prepare(table, c, part.parameters(parameter));
            Operator::with_formula(table, [&](auto formula_type) {
                using formula = decltype(formula_type);
                for (; row < r.row_end && walker.parameter == parameter; ++row, walker.advance(1)) {
                    if (shape.repeat == 1)
                        run(walker, part, [&](std::int64_t i) { return formula::from(table, neighbours<V> {i}); });
                    else if ((V::lanes - 2) / shape.repeat < 3)
                        run(walker, part, formulas_picked<V, true, formula>(table, parameter_of));
                    else
                        run(walker, part, formulas_picked<V, false, formula>(table, parameter_of));
                }
            });
        }
    }
}

template <typename V, typename Operator, storing Storing>
void rows_stored(const call &c, const rectangle &r) {
    switch (c.shape->rows) {
        case layout::kind::uniform: return uniform_rows<V, Operator, Storing>(c, r);
        case layout::kind::alongside: return alongside_rows<V, Operator, Storing>(c, r);
        case layout::kind::tiled: return tiled_rows<V, Operator>(c, r);
    }
}

template <typename V, typename Operator>
void rows(const call &c, const rectangle &r) {
    if (c.streaming) {
        rows_stored<V, Operator, storing::streaming>(c, r);
        V::fence(); // streaming stores are not ordered before what tells other threads that this is done
    } else {
        rows_stored<V, Operator, storing::cached>(c, r);
    }
    V::leave();
}

template <typename V>
constexpr row_functions rows_for() {
    return {rows<V, strict_quantizer<V, std::int8_t>>, rows<V, strict_quantizer<V, std::uint8_t>>,
            rows<V, any_quantizer<V, std::int8_t>>, rows<V, any_quantizer<V, std::uint8_t>>,
            rows<V, dequantizer<V, std::int8_t>>, rows<V, dequantizer<V, std::uint8_t>>};
}

} // namespace
} // namespace dynquant::kernels::native
