// The row algorithms, written once and compiled for each instruction set.
//
// An instruction set is a type V of primitives (isa/*.hpp):
//   reals, integers     `lanes` binary32 or s32 numbers; a block is four of each
//   load, store         and, for the end of a row, load_partial, store_partial: the first `count` lanes, or none
//   arithmetic          each correctly rounded, in the rounding mode of the control word
//   min                 (bound, x): NaN in x passes
// Everything here has internal linkage, so that no code of one instruction set can be linked into another.
#pragma once

#include <cstdint>

#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {
namespace {

constexpr float two_to_22 = 4194304.0F, two_to_75 = 37778931862957161709568.0F;

// ---- Parameters -------------------------------------------------------------------------------------

/// Prepared parameters of a stretch of columns. On the stack: preparing them costs about as much as
/// quantizing one row, and memory that outlives the call would have to be found, grown and kept apart for
/// nested calls.
struct alignas(64) parameter_table {
    static constexpr int capacity = 512;

    float scale[capacity], reciprocal[capacity], limit[capacity], zero[capacity];
    std::int32_t zero_point[capacity];
    /// All of them: 2^-75 <= scale <= 2^75 and |zero point| < 2^20. Negative scales would do with a second
    /// limit, which every element would pay for.
    int inside_guard;
    /// All of them: no difference with an s8 or u8 leaves s32.
    int narrow;
};

/// Prepares column i: what to multiply by, and whether the fast formulas apply.
inline void prepare(parameter_table &t, std::int64_t i, float scale, std::int32_t zero_point) {
    t.scale[i] = scale;
    t.reciprocal[i] = 1 / scale;
    t.limit[i] = scale * two_to_22;
    t.zero[i] = static_cast<float>(zero_point);
    t.zero_point[i] = zero_point;
    // Bitwise, so that the loop over columns has no branches.
    t.inside_guard &= static_cast<int>(scale >= 1 / two_to_75) & static_cast<int>(scale <= two_to_75)
            & static_cast<int>(zero_point < 1 << 20) & static_cast<int>(zero_point > -(1 << 20));
    t.narrow &= static_cast<int>(zero_point >= INT32_MIN + 256) & static_cast<int>(zero_point <= INT32_MAX - 256);
}

/// Prepares columns 0 to `count` with the parameters from index `first` on, `stride` apart.
inline void prepare(parameter_table &t, const call &c, std::int64_t first, std::int64_t stride, std::int64_t count) {
    t.inside_guard = t.narrow = 1;
    const auto with_zero_points = [&](auto zero_point) {
        for (std::int64_t i = 0; i < count; ++i)
            prepare(t, i, c.scales[first + i * stride], zero_point(first + i * stride));
    };
    using kind = zero_points_view::kind;
    const void *data = c.zero_points.data;
    switch (c.zero_points.type) {
        case kind::s8: return with_zero_points([=](auto p) { return static_cast<const std::int8_t *>(data)[p]; });
        case kind::u8: return with_zero_points([=](auto p) { return static_cast<const std::uint8_t *>(data)[p]; });
        case kind::s32: return with_zero_points([=](auto p) { return static_cast<const std::int32_t *>(data)[p]; });
        case kind::none: break;
    }
    with_zero_points([](auto) { return 0; });
}

/// Fills the rest of the last block, which a partial block reads but does not store.
inline void pad(parameter_table &t, std::int64_t count) {
    constexpr std::int64_t widest_block = 64;
    for (; count % widest_block != 0; ++count)
        prepare(t, count, 1, 0);
}

// ---- Formulas ---------------------------------------------------------------------------------------
// Each computes `lanes` elements. `at(table, i)` takes the parameters of columns i to i + lanes;
// `all(table)` takes those of column 0 for every lane. Quantize formulas give a real of at most 2^23, or NaN;
// V's store rounds it, saturates it and turns NaN, and all below s32, into the lowest value.

/// x / s + zp, divided by the divider.
template <typename V>
struct division {
    typename V::reals scale, zero;

    static division at(const parameter_table &t, std::int64_t i) { return {V::load(t.scale + i), V::load(t.zero + i)}; }
    static division all(const parameter_table &t) { return {V::splat(t.scale[0]), V::splat(t.zero[0])}; }

    typename V::reals operator()(typename V::reals x) const {
        // Any bound will do that all integer types lie within.
        return V::min(V::splat(two_to_22), V::add(V::div(x, scale), zero));
    }
};

/// x / s + zp inside the guard, the quotient correctly rounded by three operations: an approximation
/// corrected by its remainder, which the fused operation gives exactly (Markstein, 1990). That it never
/// misses with z = RN(1 / s) is shown by enumeration in tests/unit. Limiting x first keeps large quotients
/// right, and changes no result, as a quotient of 2^22 saturates whatever the zero point; very negative ones
/// come out below s32 or NaN, which both mean the lowest value.
template <typename V>
struct corrected_quotient {
    typename V::reals scale, reciprocal, limit, zero;

    static corrected_quotient at(const parameter_table &t, std::int64_t i) {
        return {V::load(t.scale + i), V::load(t.reciprocal + i), V::load(t.limit + i), V::load(t.zero + i)};
    }
    static corrected_quotient all(const parameter_table &t) {
        return {V::splat(t.scale[0]), V::splat(t.reciprocal[0]), V::splat(t.limit[0]), V::splat(t.zero[0])};
    }

    typename V::reals operator()(typename V::reals x) const {
        x = V::min(limit, x);
        const auto estimate = V::mul(x, reciprocal);
        const auto remainder = V::negated_fma(estimate, scale, x);
        return V::add(V::fma(remainder, reciprocal, estimate), zero);
    }
};

/// x * (1 / s) + zp: fpmath mode any, inside the guard.
template <typename V>
struct reciprocal_product {
    typename V::reals reciprocal, zero;

    static reciprocal_product at(const parameter_table &t, std::int64_t i) {
        return {V::load(t.reciprocal + i), V::load(t.zero + i)};
    }
    static reciprocal_product all(const parameter_table &t) { return {V::splat(t.reciprocal[0]), V::splat(t.zero[0])}; }

    typename V::reals operator()(typename V::reals x) const {
        return V::min(V::splat(two_to_22), V::fma(x, reciprocal, zero));
    }
};

/// (q - zp) * s where the difference fits in s32.
template <typename V>
struct narrow_difference {
    typename V::integers zero_point;
    typename V::reals scale;

    static narrow_difference at(const parameter_table &t, std::int64_t i) {
        return {V::load(t.zero_point + i), V::load(t.scale + i)};
    }
    static narrow_difference all(const parameter_table &t) { return {V::splat(t.zero_point[0]), V::splat(t.scale[0])}; }

    typename V::reals operator()(typename V::integers q) const {
        return V::mul(V::to_reals(V::subtract(q, zero_point)), scale);
    }
};

/// (q - zp) * s for the outermost zero points, whose difference needs 33 bits.
template <typename V>
struct wide_difference {
    narrow_difference<V> parameters;

    static wide_difference at(const parameter_table &t, std::int64_t i) { return {narrow_difference<V>::at(t, i)}; }
    static wide_difference all(const parameter_table &t) { return {narrow_difference<V>::all(t)}; }

    typename V::reals operator()(typename V::integers q) const {
        return V::mul(V::subtract_exactly(q, parameters.zero_point), parameters.scale);
    }
};

// ---- Runs -------------------------------------------------------------------------------------------
// A dense run of `count` elements; formula_at(i) gives the formula of columns i to i + lanes.

template <typename V, typename Integer, typename FormulaAt>
inline void quantize_run(const float *src, Integer *dst, std::int64_t count, const FormulaAt &formula_at) {
    constexpr std::int64_t n = V::lanes;
    std::int64_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n)
        V::store(dst + i, formula_at(i)(V::load(src + i)), formula_at(i + n)(V::load(src + i + n)),
                formula_at(i + 2 * n)(V::load(src + i + 2 * n)), formula_at(i + 3 * n)(V::load(src + i + 3 * n)));
    if (i < count) {
        const auto partial = [&](std::int64_t j) { return formula_at(j)(V::load_partial(src + j, count - j)); };
        V::store_partial(dst + i, count - i, partial(i), partial(i + n), partial(i + 2 * n), partial(i + 3 * n));
    }
}

template <typename V, typename Integer, typename FormulaAt>
inline void dequantize_run(const Integer *src, float *dst, std::int64_t count, const FormulaAt &formula_at) {
    constexpr std::int64_t n = V::lanes;
    std::int64_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n)
        for (std::int64_t j = i; j < i + 4 * n; j += n)
            V::store(dst + j, formula_at(j)(V::load(src + j)));
    for (; i < count; i += n)
        V::store_partial(dst + i, count - i, formula_at(i)(V::load_partial(src + i, count - i)));
}

// ---- Operators: which formula a stretch of parameters takes ----------------------------------------

template <typename V, typename Integer>
struct strict_quantizer {
    using source = float;
    using destination = Integer;

    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        if constexpr (V::has_fma)
            if (t.inside_guard) return run(corrected_quotient<V> {});
        run(division<V> {});
    }
    template <typename FormulaAt>
    static void run(const float *src, Integer *dst, std::int64_t count, const FormulaAt &formula_at) {
        quantize_run<V>(src, dst, count, formula_at);
    }
};

template <typename V, typename Integer>
struct any_quantizer : strict_quantizer<V, Integer> {
    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        t.inside_guard ? run(reciprocal_product<V> {}) : run(division<V> {});
    }
};

template <typename V, typename Integer>
struct dequantizer {
    using source = Integer;
    using destination = float;

    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        t.narrow ? run(narrow_difference<V> {}) : run(wide_difference<V> {});
    }
    template <typename FormulaAt>
    static void run(const Integer *src, float *dst, std::int64_t count, const FormulaAt &formula_at) {
        dequantize_run<V>(src, dst, count, formula_at);
    }
};

// ---- Rows -------------------------------------------------------------------------------------------

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
template <typename V, typename Operator>
void shared_parameter_rows(const call &c, const rectangle &r) {
    const auto *src = static_cast<const typename Operator::source *>(c.src) + r.column_begin;
    auto *dst = static_cast<typename Operator::destination *>(c.dst) + r.column_begin;
    const auto count = r.column_end - r.column_begin;
    row_walker walker(*c.form, r.row_begin);
    parameter_table table;
    for (auto row = r.row_begin; row < r.row_end;) {
        const auto parameter = walker.parameter;
        prepare(table, c, parameter, 0, 1);
        Operator::with_formula(table, [&](auto formula_type) {
            const auto formula = decltype(formula_type)::all(table);
            for (; row < r.row_end && walker.parameter == parameter; ++row, walker.next())
                Operator::run(src + walker.src, dst + walker.dst, count, [&](std::int64_t) { return formula; });
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
template <typename V, typename Operator>
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
                        Operator::run(from, to, count, formula_at);
                    } else {
                        Operator::run(from, out.buffer, count, formula_at);
                        out.scatter(to, along.dst_stride, count);
                    }
                }
            });
        }
    }
}

template <typename V, typename Operator>
void rows(const call &c, const rectangle &r) {
    const axis &along = c.form->row;
    const bool dense = along.src_stride == 1 && along.dst_stride == 1;
    if (dense && along.parameter_stride == 0)
        shared_parameter_rows<V, Operator>(c, r);
    else
        general_rows<V, Operator>(c, r);
}

template <typename V>
constexpr row_functions rows_for() {
    return {rows<V, strict_quantizer<V, std::int8_t>>, rows<V, strict_quantizer<V, std::uint8_t>>,
            rows<V, any_quantizer<V, std::int8_t>>, rows<V, any_quantizer<V, std::uint8_t>>,
            rows<V, dequantizer<V, std::int8_t>>, rows<V, dequantizer<V, std::uint8_t>>};
}

} // namespace
} // namespace dynquant::kernels::native
