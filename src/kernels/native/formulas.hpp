// The formulas, a vector at a time. A formula that quantizes to integers gives a real of at most 2^23 or, far below
// s32, NaN or +infinity. Packing rounds and saturates it; NaN, +infinity and everything below s32 become the lowest
// value (simd.hpp). The cells quantize.small of `dqbench verify` meet such quotients.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/microkernel.hpp"
#include "kernels/native/two_part_reciprocal.hpp"

namespace dynquant::kernels::native {
namespace {

constexpr float two_to_22 = 4194304.0F, two_to_75 = 37778931862957161709568.0F;
/// 1.5 * 2^23. Adding it to a number below 2^22 rounds that to an integer.
constexpr float magic_bias = 12582912.0F;

// ---- Which parameters the lanes take ----------------------------------------------------------------

template <typename V>
struct broadcast {
    const prepared_parameters &p;
    std::int64_t i;
    /// As integers: otherwise g++ computes what formulas derive from it in one lane, and broadcasts the result.
    typename V::reals operator()(const float *column) const {
        return V::as_reals(V::splat(__builtin_bit_cast(std::int32_t, column[i])));
    }
};

/// One parameter in registers: small calls would wait for it to pass through memory.
template <typename V>
struct held {
    struct {
        typename V::reals scale, reciprocal, of_family;
        float bound;
    } p;
    typename V::reals operator()(typename V::reals column) const { return column; }
};

template <typename V>
struct contiguous {
    const prepared_parameters &p;
    std::int64_t i;
    typename V::reals operator()(const float *column) const { return V::load(column + i); }
};

template <typename V>
struct permuted {
    const prepared_parameters &p;
    std::int64_t first;
    typename V::integers index;
    typename V::reals operator()(const float *column) const { return V::pick(column + first, index); }
};

// ---- What is added to a quotient ----------------------------------------------------------------------

template <typename V>
struct no_zero {
    static no_zero from(auto) { return {}; }
    typename V::reals added_to(typename V::reals x) const { return x; }
};

template <typename V>
struct real_zero {
    typename V::reals zero;
    static real_zero from(auto take) { return {take(take.p.of_family)}; }
    typename V::reals added_to(typename V::reals x) const { return x + zero; }
};

/// Rounds the quotient to an integer, then adds the zero point (numerics::onnx). Adding 1.5 * 2^23 rounds all quotients
/// that do not saturate. `offset` is the zero point less 1.5 * 2^23: one exact addition for both.
template <typename V>
struct rounded_zero {
    typename V::reals offset;
    static rounded_zero from(auto take) { return {take(take.p.of_family)}; }
    typename V::reals added_to(typename V::reals x) const { return x + V::splat(magic_bias) + offset; }
};

/// rounded_zero for dst and zero points of 8 bits. The zero point, s32 here, is added as a 16-bit word while packing,
/// which takes half an operation instead of two. Saturated words give the same bytes as exact sums.
template <typename V>
struct word_zero {
    typename V::integers zero_point;
    static word_zero from(auto take) { return {V::as_integers(take(take.p.of_family))}; }
    typename V::real_and_zero_point added_to(typename V::reals x) const { return {x, zero_point}; }
};

/// 2^n + 1, where n of the 24 bits of an f32's significand are dropped.
template <typename Division>
constexpr float splitter = std::is_same_v<Division, float16_bits> ? 0x2001 : 0x10001;

/// Rounds a quotient of two numbers of `Division`, float16_bits or bfloat16_bits, to that type by Veltkamp's splitting
/// (Boldo, "Pitfalls of a full floating-point proof", 2006). Splitting may round ties wrongly, but such quotients are
/// never ties. It ignores the exponent range, which changes no result: f16 subnormals are 0 as integers, and overflow,
/// 2^16, saturates as infinity does.
template <typename V, typename Division>
typename V::reals rounded_to(typename V::reals quotient) {
    if constexpr (std::is_same_v<Division, float>) {
        return quotient;
    } else {
        const auto scaled = quotient * V::splat(splitter<Division>);
        return scaled - (scaled - quotient);
    }
}

// ---- Quantize to integers ------------------------------------------------------------------------------

/// x / s + zp, by the divider.
template <typename V>
struct division {
    typename V::reals scale, zero;
    static division from(auto take) { return {take(take.p.scale), take(take.p.of_family)}; }
    typename V::reals operator()(typename V::reals x) const {
        // Any bound beyond all integer types of dst will do.
        return V::min(V::splat(two_to_22), x / scale + zero);
    }
};

/// RNE(x / s) + zp, divided by the divider and rounded to `Division`.
template <typename V, typename Division>
struct limited_division {
    typename V::reals scale;
    rounded_zero<V> zero;
    static limited_division from(auto take) { return {take(take.p.scale), rounded_zero<V>::from(take)}; }
    [[gnu::always_inline]] typename V::reals operator()(typename V::reals x) const {
        return zero.added_to(rounded_to<V, Division>(V::min(V::splat(two_to_22), x / scale)));
    }
};

/// x / s + zp inside the guard. Three operations give the correctly rounded quotient: an estimate, corrected by its
/// remainder, which the fused operation gives exactly (Markstein, 1990). tests/kernels/native/division.cpp shows by
/// enumeration that it is correct for every RN(1 / s). x is limited first, so that no large quotient overflows. That
/// changes no result: a quotient of 2^22 saturates with any zero point. Very negative quotients become less than s32's
/// lowest, or NaN, and packing turns both into the lowest value.
template <typename V, typename Zero>
struct corrected_quotient {
    typename V::reals scale, reciprocal, limit;
    Zero zero;
    static corrected_quotient from(auto take) {
        const auto scale = take(take.p.scale);
        return {scale, take(take.p.reciprocal), scale * V::splat(two_to_22), Zero::from(take)};
    }
    auto operator()(typename V::reals x) const {
        x = V::min(limit, x);
        const auto estimate = x * reciprocal;
        const auto remainder = V::negated_fma(estimate, scale, x);
        return zero.added_to(V::fma(remainder, reciprocal, estimate));
    }
};

/// RN((1 - reciprocal scale) / scale), the residual of a reciprocal (two_part_reciprocal.hpp).
template <typename V>
typename V::reals residual(typename V::reals scale, typename V::reals reciprocal) {
    const auto rest = V::negated_fma(reciprocal, scale, V::splat(1.0F)), estimate = rest * reciprocal;
    return V::fma(V::negated_fma(estimate, scale, rest), reciprocal, estimate);
}

enum class residuals { kept, derived };

/// x / s + zp inside the guard by two operations: x * (high + low), where that rounds as x / s does
/// (two_part_reciprocal.hpp). The residuals are kept in of_family if all zero points are 0. Else from() computes them,
/// which pays for long rows only. If x is near -FLT_MAX and the scale below 2^-24, x * low may overflow to +infinity
/// where `low` is negative. So does the result then, and packing turns it into the lowest value.
template <typename V, residuals Residuals, typename Zero>
struct two_part {
    typename V::reals high, low, limit;
    Zero zero;
    static two_part from(auto take) {
        const auto scale = take(take.p.scale), high = take(take.p.reciprocal);
        const auto limit = scale * V::splat(take.p.bound);
        if constexpr (Residuals == residuals::kept)
            return {high, take(take.p.of_family), limit, Zero::from(take)};
        else
            return {high, residual<V>(scale, high), limit, Zero::from(take)};
    }
    auto operator()(typename V::reals x) const {
        x = V::min(limit, x);
        return zero.added_to(V::fma(x, high, x * low));
    }
};

template <typename V>
using two_part_product = two_part<V, residuals::kept, no_zero<V>>;
template <typename V, typename Zero>
using two_part_and_zero = two_part<V, residuals::derived, Zero>;

/// x * (1 / s) + zp inside the guard, for numerics::any.
template <typename V>
struct reciprocal_product {
    typename V::reals reciprocal, zero;
    static reciprocal_product from(auto take) { return {take(take.p.reciprocal), take(take.p.of_family)}; }
    typename V::reals operator()(typename V::reals x) const {
        return V::min(V::splat(two_to_22), V::fma(x, reciprocal, zero));
    }
};

/// RNE(x / s) + zp inside the guard, where x, s and the rounded quotient are of `Division`, float16_bits or
/// bfloat16_bits. x times the reciprocal is accurate enough: its relative error is at most 2^-23 (1 + 2^-25), and the
/// midpoints between numbers of b bits are further away. With significands X, Y < 2^b and a midpoint M, which is odd
/// and below 2^(b+1), the relative distance of X / Y and M is at least 1 / (M Y): X 2^e - M Y is not 0, as M is greater
/// than X. tests/kernels/native/division.cpp enumerates all X and Y.
template <typename V, typename Division, typename Zero>
struct limited_product {
    typename V::reals reciprocal;
    Zero zero;
    static limited_product from(auto take) { return {take(take.p.reciprocal), Zero::from(take)}; }
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
    typename V::reals reciprocal, scaled_reciprocal, limit;
    Zero zero;
    static split_product from(auto take) {
        const auto reciprocal = take(take.p.reciprocal);
        return {reciprocal, reciprocal * V::splat(splitter<Division>), take(take.p.scale) * V::splat(two_to_22),
                Zero::from(take)};
    }
    [[gnu::always_inline]] auto operator()(typename V::reals x) const {
        x = V::min(limit, x);
        const auto scaled = x * scaled_reciprocal;
        return zero.added_to(scaled - V::negated_fma(x, reciprocal, scaled));
    }
};

/// RNE(x / s) + zp, saturated to 32 bits. of_family holds s32; for u32 it is less 2^31, which the last step adds.
template <typename V, typename Integer>
struct wide_division {
    typename V::reals scale;
    typename V::integers zero_point;
    static wide_division from(auto take) { return {take(take.p.scale), V::as_integers(take(take.p.of_family))}; }
    [[gnu::always_inline]] typename V::integers operator()(typename V::reals x) const {
        const auto sum = V::saturated_sum(V::to_doubles(x / scale), V::to_doubles(zero_point), INT32_MIN, INT32_MAX);
        return std::is_signed_v<Integer> ? sum : V::add(sum, V::splat(INT32_MIN));
    }
};

// ---- Quantize to floats: the quotient, which a codec narrows --------------------------------------------
//
// Codecs of codes take magnitude and sign. is_limited: magnitudes beyond the bound are the bound. is_bounded: there are
// no such, and no NaN.

/// Rounds to the division's type, with its exponent range.
template <typename V, typename Division>
typename V::reals in_division(typename V::reals x) {
    if constexpr (std::is_same_v<Division, float>)
        return x;
    else
        return V::rounded(static_cast<const Division *>(nullptr), x);
}

/// A real as its magnitude and a second real that carries the sign.
template <typename V>
struct signed_magnitude {
    typename V::reals magnitude, sign;
};

/// A result as magnitude and sign, which some formulas have before they join them.
template <typename V, typename Formula>
[[gnu::always_inline]] inline signed_magnitude<V> parts_of(const Formula &formula, typename V::reals x) {
    if constexpr (requires { formula.parts(x); }) {
        return formula.parts(x);
    } else {
        const auto result = formula(x);
        return {V::abs(result), result};
    }
}

/// x / s + zp, quotient and sum each rounded to the division's type. Rounding the sum of two numbers of b bits to 24
/// bits first changes nothing, since 24 >= 2 b + 2 (Figueroa, "When is double rounding innocuous?", 1995). Subnormal
/// sums are exact.
template <typename V, typename Division>
struct shifted_quotient {
    typename V::reals scale, zero;
    static shifted_quotient from(auto take) { return {take(take.p.scale), take(take.p.of_family)}; }
    typename V::reals operator()(typename V::reals x) const {
        return in_division<V, Division>(in_division<V, Division>(x / scale) + zero);
    }
    static constexpr bool is_limited = false, is_bounded = false;
};

/// shifted_quotient inside the guard with zero points 0 or -0, by two operations, which are exact enough: the
/// division's type or dst's has 11 bits at most. Computes magnitudes, as both signs need a limit; the sign of zeros
/// depends on the zero point. All quotients beyond the limit round to the same dst. If x * low is subnormal, dst rounds
/// the quotient to 0. Without zero points, of_family holds the residuals.
template <typename V, typename Division, typename Zero>
struct limited_quotient {
    static constexpr auto low = std::is_same_v<Zero, no_zero<V>> ? residuals::kept : residuals::derived;
    two_part<V, low, no_zero<V>> quotient;
    Zero zero;
    static limited_quotient from(auto take) { return {two_part<V, low, no_zero<V>>::from(take), Zero::from(take)}; }
    static constexpr bool is_limited = true, is_bounded = false;
    signed_magnitude<V> parts(typename V::reals x) const {
        return {in_division<V, Division>(quotient(V::abs(x))), zero.added_to(x)};
    }
    typename V::reals operator()(typename V::reals x) const {
        const auto [magnitude, sign] = parts(x);
        return V::copy_sign(magnitude, sign);
    }
};

/// limited_quotient with any zero points, for division in f16 only: none of its quotients is subnormal in f32.
template <typename V>
struct limited_quotient_and_zero {
    two_part_and_zero<V, no_zero<V>> quotient;
    typename V::reals zero;
    static limited_quotient_and_zero from(auto take) {
        return {two_part_and_zero<V, no_zero<V>>::from(take), take(take.p.of_family)};
    }
    typename V::reals operator()(typename V::reals x) const {
        const auto magnitude = in_division<V, float16_bits>(quotient(V::abs(x)));
        return in_division<V, float16_bits>(V::copy_sign(magnitude, x) + zero);
    }
};

// ---- Codes of groups whose scales are computed, from the ranges of x -------------------------------------

/// Quotients of integers that are greater need the box's statement.
constexpr float bounded_quotients = two_to_22 / 2;

/// x * m, to integers for rounding before the zero point is added, which is 0; or to floats, less than four times the
/// highest number of dst.
template <typename V>
struct bounded_product {
    typename V::reals multiplier;
    static bounded_product from(auto take) { return {take(take.p.reciprocal)}; }
    typename V::reals operator()(typename V::reals x) const { return x * multiplier; }
    static constexpr bool is_limited = true, is_bounded = true;
};

/// two_part_product with zero points. `scale` holds the residuals.
template <typename V, typename Zero>
struct bounded_quotient {
    typename V::reals high, low;
    Zero zero;
    static bounded_quotient from(auto take) { return {take(take.p.reciprocal), take(take.p.scale), Zero::from(take)}; }
    auto operator()(typename V::reals x) const { return zero.added_to(V::fma(x, high, x * low)); }
};

// ---- Quotients and sums of rare types, in f64. Calls keep their code small ----------------------------------

/// x / s, divided in any type, see sums_by. In f64 the scale is the sum of two f32: reciprocal holds the rest.
template <typename V>
struct any_quotient {
    typename V::reals scale, rest;
    int by;
    static any_quotient from(auto take) {
        return {take(take.p.scale), take(take.p.reciprocal), static_cast<int>(take.p.bound)};
    }
    [[gnu::always_inline]] typename V::doubles operator()(typename V::reals x) const {
        if ((by & in_f64) != 0) {
            const auto dividend = (by & of_integers) != 0 ? V::to_doubles(V::as_integers(x)) : V::to_doubles(x);
            return dividend / (V::to_doubles(scale) + V::to_doubles(rest));
        }
        auto quotient = x / scale;
        if ((by & in_f16) != 0) quotient = in_division<V, float16_bits>(quotient);
        if ((by & in_bf16) != 0) quotient = in_division<V, bfloat16_bits>(quotient);
        return V::to_doubles(quotient);
    }
};

/// RNE(x / s) + zp, saturated to 32 bits.
template <typename V>
struct any_sum {
    any_quotient<V> quotient;
    typename V::integers zero_point;
    static any_sum from(auto take) { return {any_quotient<V>::from(take), V::as_integers(take(take.p.of_family))}; }
    [[gnu::noinline]] typename V::integers operator()(typename V::reals x) const {
        const double lowest = (quotient.by & to_u32) != 0 ? 0 : -0x1p31;
        const double less = (quotient.by & zero_points_of_u32) != 0 ? 0x1p31 : 0;
        return V::saturated_sum(quotient(x), V::to_doubles(zero_point) + V::splat(less), lowest, lowest + (0x1p32 - 1));
    }
};

/// any_sum for dst of 16 bits and fewer.
template <typename V>
struct any_small_sum {
    any_sum<V> sum;
    static any_small_sum from(auto take) { return {any_sum<V>::from(take)}; }
    [[gnu::always_inline]] typename V::reals operator()(typename V::reals x) const {
        return V::min(V::splat(two_to_22), V::to_reals(sum(x)));
    }
};

/// x / s + zp to floats, divided in f64. Rounding to odd lets the codec of dst round once.
template <typename V>
struct quotient_in_f64 {
    any_quotient<V> quotient;
    typename V::reals zero;
    static quotient_in_f64 from(auto take) { return {any_quotient<V>::from(take), take(take.p.of_family)}; }
    [[gnu::noinline]] typename V::reals operator()(typename V::reals x) const {
        return V::rounded_to_odd(quotient(x) + V::to_doubles(zero));
    }
};

// ---- Dequantize -------------------------------------------------------------------------------------------

/// q * s for floats.
template <typename V>
struct multiplied_float {
    typename V::reals scale;
    static multiplied_float from(auto take) { return {take(take.p.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return q * scale; }
    static constexpr bool is_limited = false, is_bounded = false;
};

/// (q - zp) * s for floats.
template <typename V>
struct float_difference {
    typename V::reals zero, scale;
    static float_difference from(auto take) { return {take(take.p.of_family), take(take.p.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return (q - zero) * scale; }
};

enum class difference { in_s32, in_33_bits, of_u32 };

/// (q - zp) * s of integers. The difference fits in s32, or not; or q is u32, held less 2^31, and zero points are s32.
template <typename V, difference Which>
struct integer_difference {
    typename V::integers zero_point; // of_family, which holds s32
    typename V::reals scale;
    static integer_difference from(auto take) { return {V::as_integers(take(take.p.of_family)), take(take.p.scale)}; }
    [[gnu::always_inline]] typename V::reals operator()(typename V::integers q) const {
        if constexpr (Which == difference::in_s32)
            return V::to_reals(V::subtract(q, zero_point)) * scale;
        else if constexpr (Which == difference::in_33_bits)
            return V::subtract_exactly(q, zero_point) * scale;
        else
            return V::to_reals(V::to_doubles(q) + V::splat(0x1p31) - V::to_doubles(zero_point)) * scale;
    }
};

template <typename V>
using narrow_difference = integer_difference<V, difference::in_s32>;

} // namespace
} // namespace dynquant::kernels::native
