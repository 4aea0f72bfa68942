// Quantize to integers, numerics::onnx, divided in f16 or bf16: RNE(x / s) + zp.
#pragma once

#include "kernels/native/formulas/quotients.hpp"

namespace dynquant::kernels::native {
namespace {

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
        return zero.added_to(rounded_to<V, Division>(V::min(V::splat(two_to_22), x * reciprocal)));
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
        x = V::min(limit, x);
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

} // namespace
} // namespace dynquant::kernels::native
