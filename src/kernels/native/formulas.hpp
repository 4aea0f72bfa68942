// The formulas, a vector at a time.
#pragma once

#include <cstdint>

#include "kernels/native/parameters.hpp"
#include "kernels/native/two_part_reciprocal.hpp"

namespace dynquant::kernels::native {
namespace {

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

/// What is added to a quotient: zero points, or nothing when all are 0.
template <typename V>
struct some_zero {
    typename V::reals zero;

    static some_zero at(const parameter_table &t, std::int64_t i) { return {V::load(t.zero + i)}; }
    static some_zero all(const parameter_table &t) { return {V::splat(t.zero[0])}; }
    typename V::reals added_to(typename V::reals x) const { return V::add(x, zero); }
    typename V::reals added_to_product(typename V::reals a, typename V::reals b) const { return V::fma(a, b, zero); }
};

template <typename V>
struct no_zero {
    static no_zero at(const parameter_table &, std::int64_t) { return {}; }
    static no_zero all(const parameter_table &) { return {}; }
    typename V::reals added_to(typename V::reals x) const { return x; }
    typename V::reals added_to_product(typename V::reals a, typename V::reals b) const { return V::mul(a, b); }
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

    static corrected_quotient at(const parameter_table &t, std::int64_t i) {
        return {V::load(t.scale + i), V::load(t.reciprocal + i), V::load(t.limit + i), Zero::at(t, i)};
    }
    static corrected_quotient all(const parameter_table &t) {
        return {V::splat(t.scale[0]), V::splat(t.reciprocal[0]), V::splat(t.limit[0]), Zero::all(t)};
    }

    typename V::reals operator()(typename V::reals x) const {
        x = V::min(limit, x);
        const auto estimate = V::mul(x, reciprocal);
        const auto remainder = V::negated_fma(estimate, scale, x);
        return zero.added_to(V::fma(remainder, reciprocal, estimate));
    }
};

/// The same by two operations, for a scale that has_exact_two_part_reciprocal: x * (high + low).
template <typename V, typename Zero>
struct two_part_product {
    typename V::reals high, low, limit;
    Zero zero;

    static two_part_product all(const parameter_table &t) {
        return {V::splat(t.reciprocal[0]), V::splat(low_part(t.scale[0], t.reciprocal[0])), V::splat(t.limit[0]),
                Zero::all(t)};
    }

    typename V::reals operator()(typename V::reals x) const {
        x = V::min(limit, x);
        return zero.added_to(V::fma(x, high, V::mul(x, low)));
    }
};

/// x * (1 / s) + zp: fpmath mode any, inside the guard.
template <typename V, typename Zero>
struct reciprocal_product {
    typename V::reals reciprocal;
    Zero zero;

    static reciprocal_product at(const parameter_table &t, std::int64_t i) {
        return {V::load(t.reciprocal + i), Zero::at(t, i)};
    }
    static reciprocal_product all(const parameter_table &t) { return {V::splat(t.reciprocal[0]), Zero::all(t)}; }

    typename V::reals operator()(typename V::reals x) const {
        return V::min(V::splat(two_to_22), zero.added_to_product(x, reciprocal));
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

} // namespace
} // namespace dynquant::kernels::native
