// The formulas, a vector at a time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/parameters.hpp"
#include "kernels/native/two_part_reciprocal.hpp"

namespace dynquant::kernels::native {
namespace {

// Each computes `lanes` elements, with the parameters that `take` finds in a table for each lane: one of the
// ways below. Quantize formulas give a real of at most 2^23, or NaN;
// V's store rounds it, saturates it and turns NaN, and all below s32, into the lowest value.

// ---- Which columns of a table the lanes take -------------------------------------------------------

/// Columns i to i + lanes.
template <typename V>
struct neighbours {
    std::int64_t i;

    auto operator()(const auto *column) const { return V::load(column + i); }
};

/// Column i for every lane.
template <typename V>
struct only {
    std::int64_t i;

    auto operator()(const auto *column) const { return V::splat(column[i]); }
};

/// For each lane the column that `index` counts from `first` on: fewer than `lanes` beyond it, or fewer than
/// four where they are `Near`, which takes fewer cache lines.
template <typename V, bool Near>
struct picked {
    std::int64_t first;
    typename V::integers index;

    auto operator()(const auto *column) const {
        if constexpr (Near)
            return V::pick_near(column + first, index);
        else
            return V::pick(column + first, index);
    }
};

// ---- The formulas ----------------------------------------------------------------------------------

/// x / s + zp, divided by the divider.
template <typename V>
struct division {
    typename V::reals scale, zero;

    static division from(const auto &t, auto take) { return {take(t.scale), take(t.zero)}; }

    typename V::reals operator()(typename V::reals x) const {
        // Any bound will do that all integer types lie within.
        return V::min(V::splat(two_to_22), V::add(V::div(x, scale), zero));
    }
};

/// What is added to a quotient: zero points, or nothing when all are 0.
template <typename V>
struct some_zero {
    typename V::reals zero;

    static some_zero from(const auto &t, auto take) { return {take(t.zero)}; }
    typename V::reals added_to(typename V::reals x) const { return V::add(x, zero); }
    typename V::reals added_to_product(typename V::reals a, typename V::reals b) const { return V::fma(a, b, zero); }
};

/// The same for numerics::onnx: to the quotient, rounded to an integer. Added to 1.5 * 2^23 all quotients that do not
/// saturate become integers there, and what is subtracted again takes the zero point with it, exactly.
template <typename V>
struct rounded_zero {
    typename V::reals offset;

    static constexpr float rounder = 12582912.0F;
    static rounded_zero from(const auto &t, auto take) { return {V::add(take(t.zero), V::splat(-rounder))}; }
    typename V::reals added_to(typename V::reals x) const { return V::add(V::add(x, V::splat(rounder)), offset); }
};

/// The same for dst and zero points of 8 bits: added as words, whose sums saturate at 8 bits as exact ones do, they
/// take half an operation in place of two.
template <typename V>
struct word_zero {
    typename V::integers zero_point;

    static word_zero from(const auto &t, auto take) { return {take(t.zero_point)}; }
    typename V::real_and_zero_point added_to(typename V::reals x) const { return {x, zero_point}; }
};

template <typename V>
struct no_zero {
    static no_zero from(const auto &, auto) { return {}; }
    typename V::reals added_to(typename V::reals x) const { return x; }
    typename V::reals added_to_product(typename V::reals a, typename V::reals b) const { return V::mul(a, b); }
};

/// 2^n + 1, where n of the 24 bits of an f32's significand are dropped.
template <typename Division>
constexpr float splitter = std::is_same_v<Division, half> ? 0x2001 : 0x10001;

/// A quotient of two numbers of `Division`, half or brain, rounded to one, ties aside, which there are none of:
/// Veltkamp's splitting (Boldo, "Pitfalls of a full floating-point proof", 2006). It has no bounds of the exponent and
/// needs none: what is subnormal as f16 is 0 as an integer, and of what overflows 2^16 is saturated as infinity is.
template <typename V, typename Division>
typename V::reals rounded_to(typename V::reals quotient) {
    if constexpr (std::is_same_v<Division, float>) {
        return quotient;
    } else {
        const auto scaled = V::mul(quotient, V::splat(splitter<Division>));
        return V::subtract(scaled, V::subtract(scaled, quotient));
    }
}

/// RNE(x / s) + zp, divided by the divider and rounded to `Division`; zero points are those of integers of up to 16
/// bits.
template <typename V, typename Division, typename Zero>
struct limited_division {
    typename V::reals scale;
    Zero zero;

    static limited_division from(const auto &t, auto take) { return {take(t.scale), Zero::from(t, take)}; }

    [[gnu::always_inline]] typename V::reals operator()(typename V::reals x) const {
        return zero.added_to(rounded_to<V, Division>(V::min(V::splat(two_to_22), V::div(x, scale))));
    }
};

/// x / s + zp inside the guard, the quotient correctly rounded by three operations: an approximation
/// corrected by its remainder, which the fused operation gives exactly (Markstein, 1990). That it never
/// misses with z = RN(1 / s) is shown by enumeration in tests/unit. Limiting x first keeps large quotients
/// right, and changes no result, as a quotient of 2^22 saturates whatever the zero point; very negative ones
/// come out below s32 or NaN, which both mean the lowest value.
template <typename V, typename Zero>
struct corrected_quotient {
    typename V::reals scale, reciprocal, limit;
    Zero zero;

    static corrected_quotient from(const auto &t, auto take) {
        return {take(t.scale), take(t.reciprocal), take(t.limit), Zero::from(t, take)};
    }

    auto operator()(typename V::reals x) const {
        x = V::min(limit, x);
        const auto estimate = V::mul(x, reciprocal);
        const auto remainder = V::negated_fma(estimate, scale, x);
        return zero.added_to(V::fma(remainder, reciprocal, estimate));
    }
};

/// The same by two operations: x * (high + low), where that rounds as x / s does (two_part_reciprocal.hpp).
template <typename V, typename Zero>
struct two_part_product {
    typename V::reals high, low, limit;
    Zero zero;

    static two_part_product from(const auto &t, auto take) {
        return {take(t.reciprocal), take(t.low), take(t.limit), Zero::from(t, take)};
    }

    auto operator()(typename V::reals x) const {
        x = V::min(limit, x);
        return zero.added_to(V::fma(x, high, V::mul(x, low)));
    }
};

/// The same by one scale, whose low part is in no table.
template <typename V, typename Zero>
struct two_part_product_of_one : two_part_product<V, Zero> {
    static two_part_product_of_one from(const auto &t, only<V> take) {
        const auto low = low_part(t.scale[take.i], t.reciprocal[take.i]);
        return {{take(t.reciprocal), V::splat(low), take(t.limit), Zero::from(t, take)}};
    }
};

/// x * (1 / s) + zp: fpmath mode any, inside the guard.
template <typename V, typename Zero>
struct reciprocal_product {
    typename V::reals reciprocal;
    Zero zero;

    static reciprocal_product from(const auto &t, auto take) { return {take(t.reciprocal), Zero::from(t, take)}; }

    typename V::reals operator()(typename V::reals x) const {
        return V::min(V::splat(two_to_22), zero.added_to_product(x, reciprocal));
    }
};

/// RNE(x / s) + zp inside the guard where x and s are of `Division`, half or brain, to which the quotient is rounded: a
/// product with the reciprocal will do. It misses the quotient by at most 2^-23 (1 + 2^-25) of it, and the midpoints
/// between numbers of b bits are further away. With significands X, Y < 2^b and a midpoint M, which is odd and below
/// 2^(b+1), a quotient differs from it by at least 1 / (M Y) of it: X 2^e - M Y is not 0, as M is greater than X.
/// tests/unit enumerates all X and Y.
template <typename V, typename Division, typename Zero>
struct limited_product {
    typename V::reals reciprocal;
    Zero zero;

    static limited_product from(const auto &t, auto take) { return {take(t.reciprocal), Zero::from(t, take)}; }

    [[gnu::always_inline]] auto operator()(typename V::reals x) const {
        return zero.added_to(rounded_to<V, Division>(V::min(V::splat(two_to_22), V::mul(x, reciprocal))));
    }
};

/// The same by one scale, an operation less: the products of Veltkamp's splitting are fused with that by the
/// reciprocal. The fused difference is about 2^n quotients, where n of 24 bits are dropped, so that its last bit is
/// worth what theirs is to be, and so is that of `scaled`. This one too is tried for all X and Y.
template <typename V, typename Division, typename Zero>
struct split_product {
    typename V::reals reciprocal, scaled_reciprocal, limit;
    Zero zero;

    static split_product from(const auto &t, only<V> take) {
        const auto reciprocal = take(t.reciprocal);
        return {reciprocal, V::mul(reciprocal, V::splat(splitter<Division>)), take(t.limit), Zero::from(t, take)};
    }

    [[gnu::always_inline]] auto operator()(typename V::reals x) const {
        x = V::min(limit, x);
        const auto scaled = V::mul(x, scaled_reciprocal);
        return zero.added_to(V::subtract(scaled, V::negated_fma(x, reciprocal, scaled)));
    }
};

/// RNE(x / s) + zp in 32 bits, saturated.
template <typename V, typename Integer>
struct wide_division {
    typename V::reals scale;
    typename V::integers zero_point;

    static wide_division from(const auto &t, auto take) { return {take(t.scale), take(t.zero_point)}; }

    [[gnu::always_inline]] typename V::integers operator()(typename V::reals x) const {
        return V::template saturated_sum<Integer>(V::div(x, scale), zero_point);
    }
};

/// To numbers of the division's type, float, half or brain, whatever their exponents.
template <typename V, typename Division>
typename V::reals in_division(typename V::reals x) {
    if constexpr (std::is_same_v<Division, float>)
        return x;
    else
        return V::rounded(static_cast<const Division *>(nullptr), x);
}

/// x / s for reals that go to floats, rounded to the type of the division, by the divider.
template <typename V, typename Division>
struct divided {
    typename V::reals scale;

    static divided from(const auto &t, auto take) { return {take(t.scale)}; }
    typename V::reals operator()(typename V::reals x) const { return in_division<V, Division>(V::div(x, scale)); }
};

/// A real as its magnitude and one that has its sign.
template <typename V>
struct signed_magnitude {
    typename V::reals magnitude, sign;
};

/// x / s, rounded to the type of the division, inside the guard: of magnitudes, as both sides need a limit and zeros a
/// sign, which Zero may change. The limit is beyond all that dst does not round alike. Where x * low is subnormal, dst
/// rounds quotients to 0.
template <typename V, typename Division, typename Zero>
struct limited_quotient {
    static constexpr bool is_limited = true;
    two_part_product<V, no_zero<V>> quotient;
    Zero zero;

    static limited_quotient from(const auto &t, auto take) {
        return {two_part_product<V, no_zero<V>>::from(t, take), Zero::from(t, take)};
    }
    signed_magnitude<V> parts(typename V::reals x) const {
        const auto magnitude = in_division<V, Division>(quotient(V::abs(x)));
        // What is 0 in f16 only has a sign that a zero point takes away.
        const auto sign = std::is_same_v<Division, half> ? V::copy_sign(magnitude, x) : x;
        return {magnitude, zero.added_to(sign)};
    }
    typename V::reals operator()(typename V::reals x) const {
        const auto [magnitude, sign] = parts(x);
        return V::copy_sign(magnitude, sign);
    }
};

/// x / s + zp, each rounded to the type of the division. Quotient: divided, or limited_quotient. The sum of two numbers
/// of b bits rounds to b by way of 24 as it does at once, since 24 >= 2 b + 2 (Figueroa, "When is double rounding
/// innocuous?", 1995), and those that are subnormal are exact. What is added to 0 or to a subnormal quotient has to be
/// that to the last bit, for its sign's sake.
template <typename V, typename Division, typename Quotient>
struct shifted_quotient {
    static constexpr bool is_limited = false;
    Quotient quotient;
    typename V::reals zero;

    static shifted_quotient from(const auto &t, auto take) { return {Quotient::from(t, take), take(t.zero)}; }
    signed_magnitude<V> parts(typename V::reals x) const {
        const auto sum = (*this)(x);
        return {V::abs(sum), sum};
    }
    typename V::reals operator()(typename V::reals x) const {
        return in_division<V, Division>(V::add(quotient(x), zero));
    }
};

/// q * s of floats.
template <typename V>
struct multiplied {
    typename V::reals scale;

    static multiplied from(const auto &t, auto take) { return {take(t.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return V::mul(q, scale); }
};

/// (q - zp) * s of floats.
template <typename V>
struct float_difference {
    typename V::reals zero, scale;

    static float_difference from(const auto &t, auto take) { return {take(t.zero), take(t.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return V::mul(V::subtract(q, zero), scale); }
};

/// (q - zp) * s where the difference fits in s32.
template <typename V>
struct narrow_difference {
    typename V::integers zero_point;
    typename V::reals scale;

    static narrow_difference from(const auto &t, auto take) { return {take(t.zero_point), take(t.scale)}; }

    typename V::reals operator()(typename V::integers q) const {
        return V::mul(V::to_reals(V::subtract(q, zero_point)), scale);
    }
};

/// (q - zp) * s for the outermost zero points, whose difference needs 33 bits.
template <typename V>
struct wide_difference {
    narrow_difference<V> parameters;

    static wide_difference from(const auto &t, auto take) { return {narrow_difference<V>::from(t, take)}; }

    typename V::reals operator()(typename V::integers q) const {
        return V::mul(V::subtract_exactly(q, parameters.zero_point), parameters.scale);
    }
};

} // namespace
} // namespace dynquant::kernels::native
