// The row algorithms, written once and compiled for each instruction set.
//
// An instruction set is a type V of primitives (isa/*.hpp):
// - reals, integers: `lanes` binary32 or s32 numbers; a block is four of each.
// - load, store; stream, past the caches to a multiple of its size, and fence after it.
// - load_partial, store_partial, for the end of a row: the first `count` lanes, or none.
// - arithmetic, each operation correctly rounded in the rounding mode of the control word.
// - min(bound, x): NaN in x passes.
// - leave: what the processor wants before code of another instruction set.
// Everything here has internal linkage, so that no code of one instruction set can be linked into another.
#pragma once

#include <cstdint>

#include "kernels/native/runs.hpp"

namespace dynquant::kernels::native {
namespace {

/// Walks the rows of a canonical form like an odometer, keeping each buffer's offset.
class row_walker {
  public:
    row_walker(const canonical_form &form, std::int64_t row)
        : form_(form) {
        for (int d = form.loop_count; d-- > 0;) {
            index_[d] = row % form.loops[d].extent;
            row /= form.loops[d].extent;
            move(form.loops[d], index_[d]);
        }
    }

    void next() {
        for (int d = form_.loop_count; d-- > 0;) {
            const axis &loop = form_.loops[d];
            move(loop, 1);
            if (++index_[d] < loop.extent) return;
            move(loop, -loop.extent);
            index_[d] = 0;
        }
    }

    std::int64_t src = 0, dst = 0, parameter = 0;

  private:
    void move(const axis &loop, std::int64_t steps) {
        src += steps * loop.src_stride;
        dst += steps * loop.dst_stride;
        parameter += steps * loop.parameter_stride;
    }

    const canonical_form &form_;
    std::int64_t index_[canonical_form::max_loops];
};

/// Rows that are dense and lie under one parameter each.
template <typename Operator, storing Storing>
void shared_parameter_rows(const call &c, const rectangle &r) {
    const auto *src = static_cast<const typename Operator::source *>(c.src) + r.column_begin;
    auto *dst = static_cast<typename Operator::destination *>(c.dst) + r.column_begin;
    const auto count = r.column_end - r.column_begin;
    row_walker walker(*c.form, r.row_begin);
    parameter_table table;
    for (auto row = r.row_begin; row < r.row_end;) {
        const auto parameter = walker.parameter;
        prepare(table, c, parameter, 0, 1);
        Operator::with_constant_formula(table, count * (r.row_end - row), [&](auto formula_type) {
            const auto formula = decltype(formula_type)::all(table);
            for (; row < r.row_end && walker.parameter == parameter; ++row, walker.next())
                Operator::template run<Storing>(
                        src + walker.src, dst + walker.dst, count, [&](std::int64_t) { return formula; });
        });
    }
}

/// A stretch of a row as a dense run: in place if it is one, else copied to or from the stack.
template <typename T>
struct staged {
    T buffer[parameter_table::capacity];

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

/// Any other rows: parameters alongside, or strides. Columns are taken a table of parameters at a time, for
/// all rows, so that a table is prepared once.
template <typename Operator, storing Storing>
void general_rows(const call &c, const rectangle &r) {
    const axis &along = c.form->row;
    const auto *src = static_cast<const typename Operator::source *>(c.src);
    auto *dst = static_cast<typename Operator::destination *>(c.dst);
    parameter_table table;
    staged<typename Operator::source> in;
    staged<typename Operator::destination> out;
    std::int64_t next = 0;
    for (auto column = r.column_begin; column < r.column_end; column = next) {
        next = column + parameter_table::capacity < r.column_end ? column + parameter_table::capacity : r.column_end;
        const auto count = next - column;
        row_walker walker(*c.form, r.row_begin);
        for (auto row = r.row_begin; row < r.row_end;) {
            const auto parameter = walker.parameter;
            prepare(table, c, parameter + column * along.parameter_stride, along.parameter_stride, count);
            pad(table, count);
            Operator::with_formula(table, [&](auto formula_type) {
                const auto formula_at = [&](std::int64_t i) { return decltype(formula_type)::at(table, i); };
                for (; row < r.row_end && walker.parameter == parameter; ++row, walker.next()) {
                    const auto *from = in.gather(src + walker.src + column * along.src_stride, along.src_stride, count);
                    auto *to = dst + walker.dst + column * along.dst_stride;
                    if (along.dst_stride == 1) {
                        Operator::template run<Storing>(from, to, count, formula_at);
                    } else {
                        Operator::template run<storing::cached>(from, out.buffer, count, formula_at);
                        out.scatter(to, along.dst_stride, count);
                    }
                }
            });
        }
    }
}

template <typename Operator, storing Storing>
void rows_stored(const call &c, const rectangle &r) {
    const axis &along = c.form->row;
    const bool dense = along.src_stride == 1 && along.dst_stride == 1;
    if (dense && along.parameter_stride == 0)
        shared_parameter_rows<Operator, Storing>(c, r);
    else
        general_rows<Operator, Storing>(c, r);
}

template <typename V, typename Operator>
void rows(const call &c, const rectangle &r) {
    if (c.streaming) {
        rows_stored<Operator, storing::streaming>(c, r);
        V::fence(); // streaming stores are not ordered before what tells other threads that this is done
    } else {
        rows_stored<Operator, storing::cached>(c, r);
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
