// Quantize to integers: x / s + zp, divided in f32, f16 or bf16, and x * m + zp for computed scales whose blocks are no
// groups (groups.hpp).
#pragma once

#include "kernels/native/formulas/forms.hpp"

namespace dynquant::kernels::native {
namespace {

// ---- Divided in f32 --------------------------------------------------------------------------------------

/// x / s + zp, by the divider.
template <typename V>
struct division {
    using parameters = quotient_parameters<float>;
    using zero_kind = real_zero<V>;
    typename V::reals scale, zero;
    static division from(auto take) { return {take(take.p.scale), take(take.p.zero_point)}; }
    typename V::reals operator()(typename V::reals x) const {
        // Any bound beyond all integer types of dst will do.
        return limited<V>(V::splat(two_to_22), x / scale + zero);
    }
};

/// RNE(x / s) + zp, divided by the divider and rounded to `Division`.
template <typename V, typename Division>
struct limited_division {
    using zero_kind = rounded_zero<V>;
    using parameters = quotient_parameters<typename zero_kind::element>;
    typename V::reals scale;
    zero_kind zero;
    static limited_division from(auto take) { return {take(take.p.scale), zero_kind::from(take(take.p.zero_point))}; }
    [[gnu::always_inline]] typename V::reals operator()(typename V::reals x) const {
        return zero.added_to(rounded_to<V, Division>(limited<V>(V::splat(two_to_22), x / scale)));
    }
};

/// x / s + zp inside the guard. Three operations give the correctly rounded quotient from 2^-28 on: an estimate,
/// corrected by its remainder (Markstein, 1990). Smaller ones stay below 2^-27, which no rounding to integers notices.
/// Markstein's theorem does not cover estimates of more than one unit in the last place from the quotient, whose
/// remainder may be rounded. They are less than 3 / 2 units from it, and proofs/three_operations.v proves it for these,
/// too. x is limited first, so that no large quotient overflows. That changes no result: a quotient of 2^22 saturates
/// with any zero point. Very negative quotients become less than s32's lowest, or NaN, and packing turns both into the
/// lowest value.
template <typename V, typename Zero>
struct corrected_quotient {
    using parameters = quotient_parameters<typename Zero::element>;
    using zero_kind = Zero;
    typename V::reals scale, reciprocal, limit;
    Zero zero;
    static corrected_quotient of(typename V::reals scale, typename V::reals reciprocal, Zero zero) {
        return {scale, reciprocal, scale * V::splat(two_to_22), zero};
    }
    static corrected_quotient from(auto take) {
        return of(take(take.p.scale), take(take.p.reciprocal), Zero::from(take(take.p.zero_point)));
    }
    auto operator()(typename V::reals x) const {
        x = limited<V>(limit, x);
        const auto estimate = x * reciprocal;
        const auto remainder = V::negated_fma(estimate, scale, x);
        return zero.added_to(V::fma(remainder, reciprocal, estimate));
    }
};

/// x * (1 / s) + zp inside the guard, for numerics::any.
template <typename V>
struct reciprocal_product {
    using parameters = quotient_parameters<float>;
    using zero_kind = real_zero<V>;
    typename V::reals reciprocal, zero;
    static reciprocal_product from(auto take) { return {take(take.p.reciprocal), take(take.p.zero_point)}; }
    typename V::reals operator()(typename V::reals x) const {
        return limited<V>(V::splat(two_to_22), V::fma(x, reciprocal, zero));
    }
};

/// Prepares `Guarded` inside the guard, unless that is void, and `AnyParameters` outside. If HasProduct, prepares
/// two_part_product where no zero point is added.
template <typename AnyParameters, typename Guarded, bool HasProduct>
chunk_state prepare_quotients(std::int64_t count, const parameter_columns &columns) {
    const auto given = columns.as<fetched_parameters>();
    if constexpr (!std::is_void_v<Guarded>) {
        const auto p = columns.as<typename Guarded::parameters>();
        const auto found = examine(count, given.scale, p.reciprocal, given.zero_point);
        if (HasProduct && found.inside_guard && found.all_zero) {
            to_residuals(count, columns.as<two_part_parameters>());
            return chunk_state::no_zero_points;
        }
        if (found.inside_guard) {
            Guarded::zero_kind::prepare(count, given.zero_point, p.zero_point);
            return chunk_state::guarded;
        }
    }
    AnyParameters::zero_kind::prepare(
            count, given.zero_point, columns.as<typename AnyParameters::parameters>().zero_point);
    return chunk_state::any_parameters;
}

/// Quantizes by `Formula`, or by two operations if the zero point is 0.
template <typename V, typename Formula, typename Dst>
bool flat_quotient(const void *src, void *dst, std::int64_t count, std::int32_t scale, std::int32_t zero_point) {
    if (!are_inside_guard({scale, scale}, {zero_point, zero_point})) return false;
    const auto divisor = V::as_reals(V::splat(scale)), reciprocal = V::splat(1.0F) / divisor;
    if (zero_point == 0)
        flat_row<V, float, Dst>(src, dst, count, two_part_and_zero<V, no_zero<V>>::of(divisor, reciprocal, {}));
    else
        flat_row<V, float, Dst>(src, dst, count, Formula::of(divisor, reciprocal, Formula::zero_kind::of(zero_point)));
    return true;
}

template <typename Dst>
constexpr statement_set quantizes_to(numerics rule) {
    return {.dir = direction::quantize, .types = types_as<Dst>, .rules = bit(rule)};
}

/// numerics::onnx, divided in a type, by zero points of dst's type. Other zero points take formulas of any division.
template <typename Dst>
constexpr statement_set quantizes_in(precision division) {
    auto result = quantizes_to<Dst>(numerics::onnx);
    result.divisions = bit(division);
    result.own_zero_points = bit(true);
    return result;
}

template <typename V, typename Dst>
constexpr family strict() {
    using guarded = std::conditional_t<V::has_fma, corrected_quotient<V, real_zero<V>>, void>;
    using any_parameters = division<V>;
    auto f = family_of<V, any_parameters, float, Dst>(
            quantizes_to<Dst>(numerics::strict), prepare_quotients<any_parameters, guarded, true>);
    if constexpr (V::has_fma) {
        f.guarded = in_all_forms<V, guarded, float, Dst>();
        f.no_zero_points = in_all_forms<V, two_part_product<V>, float, Dst>();
        fuse_reals<V, guarded, Dst>(f.guarded);
        fuse_reals<V, two_part_product<V>, Dst>(f.no_zero_points);
        add_segs<V, guarded, float16_bits, Dst>(f.guarded, access::of_f16);
        add_segs<V, guarded, bfloat16_bits, Dst>(f.guarded, access::of_bf16);
        add_segs<V, two_part_product<V>, float16_bits, Dst>(f.no_zero_points, access::of_f16);
        add_segs<V, two_part_product<V>, bfloat16_bits, Dst>(f.no_zero_points, access::of_bf16);
        using exact = two_part_and_zero<V, real_zero<V>>;
        f.exact.kernels.set(form::rows, rows<V, exact, float, Dst, false>);
        fuse_reals<V, exact, Dst, false>(f.exact.kernels);
        f.exact.is_exact = [](const parameter_columns &columns) {
            return has_exact_two_part_reciprocal(columns.as<typename exact::parameters>().scale[0]);
        };
        f.flat = flat_quotient<V, guarded, Dst>;
        f.exact.min_elements_to_test = 16 * 1024; // the test costs as much as an operation for a few thousand elements
    }
    return f;
}

template <typename V, typename Dst>
constexpr family any() {
    auto f = family_of<V, division<V>, float, Dst>(
            quantizes_to<Dst>(numerics::any), prepare_quotients<division<V>, reciprocal_product<V>, false>);
    f.guarded = in_all_forms<V, reciprocal_product<V>, float, Dst>();
    return f;
}

/// numerics::onnx to 8 bits. Quotients are rounded before the zero point is added, so two operations are exact for
/// every scale. Other forms than rows load their parameters often: there three operations cost less than the residual.
template <typename V, typename Dst>
constexpr family onnx() {
    using any_parameters = limited_division<V, float>;
    using guarded = std::conditional_t<V::has_fma, corrected_quotient<V, word_zero<V>>, void>;
    auto f = family_of<V, any_parameters, float, Dst>(
            quantizes_in<Dst>(precision::f32), prepare_quotients<any_parameters, guarded, true>);
    if constexpr (V::has_fma) {
        using guarded_rows = two_part_and_zero<V, word_zero<V>>;
        f.guarded = in_all_forms<V, guarded, float, Dst>();
        f.guarded.set(form::rows, rows<V, guarded_rows, float, Dst>);
        f.flat = flat_quotient<V, guarded_rows, Dst>;
        fuse_reals<V, guarded_rows, Dst>(f.guarded);
        f.no_zero_points = in_all_forms<V, two_part_product<V>, float, Dst>();
        fuse_reals<V, two_part_product<V>, Dst>(f.no_zero_points);
    }
    return f;
}

/// numerics::onnx to 16 bits.
template <typename V, typename Dst>
constexpr family onnx_16() {
    using any_parameters = limited_division<V, float>;
    using guarded = std::conditional_t<V::has_fma, corrected_quotient<V, rounded_zero<V>>, void>;
    auto f = family_of<V, any_parameters, float, Dst>(
            quantizes_in<Dst>(precision::f32), prepare_quotients<any_parameters, guarded, false>);
    if constexpr (V::has_fma) f.guarded = in_two_forms<V, guarded, guarded, float, Dst, 4>();
    return f;
}

// ---- numerics::onnx, divided in f16 or bf16 -------------------------------------------------------------------

/// RNE(x / s) + zp inside the guard, where x, s and the rounded quotient are of `Division`, float16_bits or
/// bfloat16_bits. x times the reciprocal is accurate enough: its relative error is at most 2^-23 (1 + 2^-25), and the
/// midpoints between numbers of b bits are further away. With significands X, Y < 2^b and a midpoint M, which is odd
/// and below 2^(b+1), the relative distance of X / Y and M is at least 1 / (M Y): X 2^e - M Y is not 0, as M is greater
/// than X. tests/kernels/native/division.cpp enumerates all X and Y.
template <typename V, typename Division, typename Zero>
struct limited_product {
    using parameters = quotient_parameters<typename Zero::element>;
    using zero_kind = Zero;
    typename V::reals reciprocal;
    Zero zero;
    static limited_product from(auto take) { return {take(take.p.reciprocal), Zero::from(take(take.p.zero_point))}; }
    [[gnu::always_inline]] auto operator()(typename V::reals x) const {
        return zero.added_to(rounded_to<V, Division>(limited<V>(V::splat(two_to_22), x * reciprocal)));
    }
};

/// limited_product for rows of one scale, with one operation less: it fuses Veltkamp's splitting with the product by
/// the reciprocal. The fused difference is about 2^n quotients, where n of 24 bits are dropped. So its last bit, and
/// that of `scaled`, has the weight of the rounded quotient's last bit.
/// tests/kernels/native/division.cpp enumerates all X and Y.
template <typename V, typename Division, typename Zero>
struct split_product {
    using parameters = quotient_parameters<typename Zero::element>;
    typename V::reals reciprocal, scaled_reciprocal, limit;
    Zero zero;
    static split_product from(auto take) {
        const auto reciprocal = take(take.p.reciprocal);
        return {reciprocal, reciprocal * V::splat(splitter<Division>), take(take.p.scale) * V::splat(two_to_22),
                Zero::from(take(take.p.zero_point))};
    }
    [[gnu::always_inline]] auto operator()(typename V::reals x) const {
        x = limited<V>(limit, x);
        const auto scaled = x * scaled_reciprocal;
        return zero.added_to(scaled - V::negated_fma(x, reciprocal, scaled));
    }
};

/// To 8 bits, which word_zero adds while packing, or to 16 bits, which a codec makes of f32.
template <typename V, typename Division, typename Dst>
constexpr family quotients_in_16_bits(set_of_bits types = types_as<Dst>) {
    constexpr bool to_8_bits = sizeof(Dst) == 1, in_f16 = std::is_same_v<Division, float16_bits>;
    using any_parameters = limited_division<V, Division>;
    using zero = std::conditional_t<to_8_bits, word_zero<V>, rounded_zero<V>>;
    using of_columns = limited_product<V, Division, zero>;
    auto statements = quantizes_in<Dst>(in_f16 ? precision::f16 : precision::bf16);
    statements.types = types;
    auto f = family_of<V, any_parameters, float, Dst>(
            statements, prepare_quotients<any_parameters, std::conditional_t<V::has_fma, of_columns, void>, false>);
    if constexpr (V::has_fma) {
        using of_rows = split_product<V, Division, zero>;
        f.guarded = in_two_forms < V, of_rows, of_columns, float, Dst, to_8_bits ? 2 : 1 > ();
        // Src of another type than the division's is rounded to that, which takes staging.
        if constexpr (to_8_bits)
            f.guarded.set(form::rows, rows<V, of_rows, Division, Dst>, in_f16 ? access::of_f16 : access::of_bf16);
    }
    return f;
}

// ---- Computed scales: by multipliers that are not 1 / s ---------------------------------------------------------

/// Multipliers stand for reciprocals: they are 1 / s, but rounded otherwise. Scales only limit x. A two_part_product
/// whose residual is 0 is the product.
template <typename V, typename Formula>
chunk_state prepare_products(std::int64_t count, const parameter_columns &columns) {
    const auto given = columns.as<fetched_parameters>();
    bounds factors, zero_points;
    for (std::int64_t i = 0; i < count; ++i) {
        factors.include(bits_of(given.scale[i]));
        factors.include(bits_of(given.second[i]));
        zero_points.include(given.zero_point[i]);
    }
    if (V::has_fma && are_inside_guard(factors) && zero_points.within(0, 0)) {
        const auto p = columns.as<two_part_parameters>();
        for (std::int64_t i = 0; i < count; ++i)
            p.low[i] = 0;
        return chunk_state::no_zero_points;
    }
    Formula::zero_kind::prepare(count, given.zero_point, columns.as<typename Formula::parameters>().zero_point);
    return chunk_state::any_parameters;
}

/// RNE(x * m) + zp.
template <typename V, typename Dst>
constexpr family products() {
    using zero = std::conditional_t<V::has_fma, word_zero<V>, rounded_zero<V>>;
    using any_parameters = limited_product<V, float, zero>;
    auto f = family_of<V, any_parameters, float, Dst>(
            {.dir = direction::quantize, .types = types_as<Dst>, .multiplies = true},
            prepare_products<V, any_parameters>);
    if constexpr (V::has_fma) f.no_zero_points = onnx<V, Dst>().no_zero_points;
    return f;
}

} // namespace
} // namespace dynquant::kernels::native
