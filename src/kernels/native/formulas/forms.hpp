// The forms in which families have their formulas.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/formulas/two_part.hpp"
#include "kernels/native/loops.hpp"

namespace dynquant::kernels::native {
namespace {

/// Adds groups of whole vectors.
template <typename V, typename Formula, typename Src, typename Dst>
constexpr void add_segs(microkernels &m, access a = access::as_is) {
    if constexpr (std::is_same_v<Dst, code>) {
        m.set(form::segs1, segs_to_codes<V, Formula, 1, Src>, a);
        m.set(form::segs2, segs_to_codes<V, Formula, 2, Src>, a);
        m.set(form::segs4, segs_to_codes<V, Formula, 4, Src>, a);
    } else {
        m.set(form::segs1, segs<V, Formula, 1, Src, Dst>, a);
        m.set(form::segs2, segs<V, Formula, 2, Src, Dst>, a);
        m.set(form::segs4, segs<V, Formula, 4, Src, Dst>, a);
    }
}

/// A formula in every form.
template <typename V, typename Formula, typename Src, typename Dst>
constexpr microkernels in_all_forms() {
    microkernels m = {};
    m.set(form::rows, rows<V, Formula, Src, Dst>);
    m.set(form::cols, cols < V, Formula, V::lanes == 1 ? 1 : sizeof(Dst) == 4 ? 2 : 4, Src, Dst >);
    if constexpr (V::lanes > 1) {
        m.set(form::short_groups, short_groups<V, Formula, Src, Dst>);
        add_segs<V, Formula, Src, Dst>(m);
    }
    return m;
}

/// A formula for rows and columns only. Groups then become rows. Vectors of one lane gain nothing from rows computed
/// together.
template <typename V, typename OfRows, typename OfColumns, typename Src, typename Dst, int Together = 1>
constexpr microkernels in_two_forms() {
    microkernels m = {};
    m.set(form::rows, rows<V, OfRows, Src, Dst, (Together > 1)>);
    m.set(form::cols, cols < V, OfColumns, V::lanes < Together ? V::lanes : Together, Src, Dst >);
    return m;
}

/// Adds rows that read f16 and bf16 without a codec.
template <typename V, typename Formula, typename Dst, bool Overruns = true>
constexpr void fuse_reals(microkernels &m) {
    if constexpr (V::lanes > 1) {
        m.set(form::rows, rows<V, Formula, float16_bits, Dst, Overruns>, access::of_f16);
        m.set(form::rows, rows<V, Formula, bfloat16_bits, Dst, Overruns>, access::of_bf16);
    }
}

/// Adds rows and columns that write codes of narrow floats without a codec.
template <typename V, typename Formula>
constexpr void fuse_codes(microkernels &m) {
    m.set(form::rows, rows_to_codes<V, Formula, float>, access::to_codes);
    m.set(form::cols, cols_to_codes<V, Formula, float>, access::to_codes);
}

/// Adds rows and groups that read f16 and bf16 and write codes, and groups that write codes.
template <typename V, typename Formula>
constexpr void fuse_reals_and_codes(microkernels &m) {
    m.set(form::rows, rows_to_codes<V, Formula, float16_bits>, access::f16_to_codes);
    m.set(form::rows, rows_to_codes<V, Formula, bfloat16_bits>, access::bf16_to_codes);
    add_segs<V, Formula, float, code>(m, access::to_codes);
    add_segs<V, Formula, float16_bits, code>(m, access::f16_to_codes);
    add_segs<V, Formula, bfloat16_bits, code>(m, access::bf16_to_codes);
}

/// The data type of elements that formulas read or write as T.
template <typename T>
constexpr data_type type_of = [] {
    auto found = data_type::f32;
    for_each_type([&]<data_type type>() {
        using element = std::conditional_t<traits(type).integral, integer_of<type>, float_of<type>>;
        if (std::is_same_v<T, element> && traits(type).bits == 8 * sizeof(T)) found = type;
    });
    return found;
}();

/// The types whose elements formulas read or write as T. Integers narrower than a byte are staged as s8, floats as f32.
template <typename T>
constexpr set_of_bits types_as = [] {
    set_of_bits result = 0;
    for (const auto &t : data_types)
        if (std::is_same_v<T, float>
                        ? !t.integral
                        : t.type == type_of<T> || (std::is_same_v<T, std::int8_t> && t.integral && t.bits < 8))
            result |= bit(t.type);
    return result;
}();

/// A family by its formula for any parameters.
template <typename V, typename Formula, typename Src, typename Dst, int Together = 1>
constexpr family family_of(const statement_set &computes, prepare_function prepare) {
    family f = {};
    f.computes = computes;
    f.prepare = prepare;
    f.reads = type_of<Src>;
    f.writes = type_of<Dst>;
    if constexpr (requires { Formula::no_zero_point; }) {
        f.has_real_zero_points = true;
        f.no_zero_point = Formula::no_zero_point;
    }
    f.any_parameters = in_two_forms<V, Formula, Formula, Src, Dst, Together>();
    return f;
}

/// Computes a row by one formula, for flat microkernels.
template <typename V, typename Src, typename Dst, typename Formula>
[[gnu::always_inline]] inline void flat_row(const void *src, void *dst, std::int64_t count, const Formula &formula) {
    process_row<V, false>(
            static_cast<const Src *>(src), static_cast<Dst *>(dst), count, false,
            true, [&](std::int64_t) __attribute__((always_inline))->const Formula & { return formula; });
    V::zero_upper();
}

} // namespace
} // namespace dynquant::kernels::native
