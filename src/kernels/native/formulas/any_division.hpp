// Quotients and sums that few statements need, in f64: to integers of 32 bits, by zero points of other types than
// dst's, divided in f64. Calls keep their code small.
#pragma once

#include "kernels/native/formulas/forms.hpp"

namespace dynquant::kernels::native {
namespace {

/// RNE(quotient) + zero point, saturated: near 1.5 * 2^52 the low half of an f64 is the integer.
template <typename V>
[[gnu::always_inline]] inline typename V::integers saturated_sum(
        const typename V::doubles &quotient, const typename V::doubles &zero_point, double lowest, double highest) {
    constexpr double origin = 0x1.8p52;
    return V::low_halves(V::limited(quotient + V::splat(origin) + zero_point, origin + lowest, origin + highest));
}

/// RNE(x / s) + zp, saturated to 32 bits. u32 is less 2^31, as its zero points are; the last step adds it.
template <typename V, typename Integer>
struct wide_division {
    using parameters = fetched_parameters;
    typename V::reals scale;
    typename V::integers zero_point;
    static wide_division from(auto take) { return {take(take.p.scale), take(take.p.zero_point)}; }
    [[gnu::always_inline]] typename V::integers operator()(typename V::reals x) const {
        const auto sum = saturated_sum<V>(V::to_doubles(x / scale), V::to_doubles(zero_point), INT32_MIN, INT32_MAX);
        return std::is_signed_v<Integer> ? sum : V::add(sum, V::splat(INT32_MIN));
    }
};

/// x / s, divided as the options say. In f64 the scale is the sum of two f32.
template <typename V>
struct any_quotient {
    typename V::reals scale, rest;
    division_options options;
    static any_quotient from(auto take) { return {take(take.p.scale), take(take.p.second), take.p.constants.options}; }
    [[gnu::always_inline]] typename V::doubles operator()(typename V::reals x) const {
        if (options.division == precision::f64) {
            const auto dividend = options.of_s32 ? V::to_doubles(V::as_integers(x)) : V::to_doubles(x);
            return dividend / (V::to_doubles(scale) + V::to_doubles(rest));
        }
        auto quotient = x / scale;
        if (options.division == precision::f16) quotient = in_division<V, float16_bits>(quotient);
        if (options.division == precision::bf16) quotient = in_division<V, bfloat16_bits>(quotient);
        return V::to_doubles(quotient);
    }
};

/// RNE(x / s) + zp, saturated to 32 bits.
template <typename V>
struct any_sum {
    using parameters = fetched_parameters;
    any_quotient<V> quotient;
    typename V::integers zero_point;
    static any_sum from(auto take) { return {any_quotient<V>::from(take), take(take.p.zero_point)}; }
    [[gnu::noinline]] typename V::integers operator()(typename V::reals x) const {
        const double lowest = quotient.options.to_u32 ? 0 : -0x1p31;
        const double less = quotient.options.zero_points_of_u32 ? 0x1p31 : 0;
        return saturated_sum<V>(quotient(x), V::to_doubles(zero_point) + V::splat(less), lowest, lowest + (0x1p32 - 1));
    }
};

/// any_sum for dst of 16 bits and fewer.
template <typename V>
struct any_small_sum {
    using parameters = typename any_sum<V>::parameters;
    any_sum<V> sum;
    static any_small_sum from(auto take) { return {any_sum<V>::from(take)}; }
    [[gnu::always_inline]] typename V::reals operator()(typename V::reals x) const {
        return V::min(V::splat(two_to_22), V::to_reals(sum(x)));
    }
};

/// x / s + zp to floats, divided in f64. Rounding to odd lets the codec of dst round once.
template <typename V>
struct quotient_in_f64 {
    using parameters = fetched_reals;
    static constexpr float no_zero_point = -0.0F;
    any_quotient<V> quotient;
    typename V::reals zero;
    static quotient_in_f64 from(auto take) { return {any_quotient<V>::from(take), take(take.p.zero_point)}; }
    [[gnu::noinline]] typename V::reals operator()(typename V::reals x) const {
        return V::rounded_to_odd(quotient(x) + V::to_doubles(zero));
    }
};

/// numerics::onnx to 32 bits, divided in f32. Zero points of other types than u32 take any_sum.
template <typename V, typename Integer>
constexpr family wide_quotients() {
    const statement_set statements = {.dir = direction::quantize,
            .types = types_as<Integer>,
            .rules = bit(numerics::onnx),
            .divisions = bit(precision::f32),
            .own_zero_points = std::is_signed_v<Integer> ? statement_set::all : bit(true)};
    return family_of<V, wide_division<V, Integer>, float, std::int32_t>(statements, prepare_nothing);
}

/// numerics::onnx to integers, divided in any type, by zero points of any type.
template <typename V, typename Formula, typename Dst>
constexpr family any_sums(set_of_bits types = types_as<Dst>) {
    return family_of<V, Formula, float, Dst>(
            {.dir = direction::quantize, .types = types, .rules = bit(numerics::onnx)}, prepare_nothing);
}

template <typename V>
constexpr family quotients_in_f64() {
    return family_of<V, quotient_in_f64<V>, float, float>(
            {.dir = direction::quantize, .types = types_as<float>, .divisions = bit(precision::f64)}, prepare_nothing);
}

} // namespace
} // namespace dynquant::kernels::native
