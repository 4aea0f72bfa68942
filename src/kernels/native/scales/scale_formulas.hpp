// The parameters of blocks from their ranges: the formulas of quantization/computed.hpp, in vectors of `bytes` bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/native/formulas/two_part.hpp"
#include "kernels/native/small_floats.hpp"
#include "quantization/computed.hpp"
#include "targets/lanes.hpp"

namespace dynquant::kernels::native {
namespace {

/// Quotients of integers that are greater need the box's statement: formulas/groups.hpp has no limit.
constexpr float bounded_quotients = two_to_22 / 2;

template <int bytes>
struct scale_steps {
    using of_reals = simd::lanes_of<float, bytes>;
    using of_integers = simd::lanes_of<std::int32_t, bytes>;
    using reals = typename of_reals::vector;
    using integers = typename of_integers::vector;
    using formula = numerics_contract::scale_formula;
    static constexpr std::int32_t infinity = 0x7f800000, nan = 0x7fc00000;

    [[gnu::always_inline]] static reals as_reals(integers bits) { return of_reals::as(bits); }
    [[gnu::always_inline]] static integers as_integers(reals x) { return of_integers::as(x); }

    /// The greater of -low and high. NaN is the greatest.
    [[gnu::always_inline]] static reals magnitude(reals low, reals high) {
        const auto a = as_integers(low) & 0x7fffffff, b = as_integers(high);
        return as_reals(of_integers::max(a, b));
    }

    [[gnu::always_inline]] static reals unrounded(const formula &f, float global, reals range) {
        auto v = range / f.divisor;
        if (global != 1) v = v / global;
        const auto least = of_reals::splat(f.least);
        v = v <= least ? least : v;                             // 0 in place of -0, too
        v = v >= least ? v : as_reals(of_integers::splat(nan)); // only NaN is not
        return range == 0 ? of_reals::splat(f.of_zero) : v;
    }

    /// What is added to the bits of a range before its exponent is taken.
    static std::int32_t rounding_of(const formula &f) {
        constexpr std::int32_t fraction = (1 << 23) - 1;
        switch (f.rule.rounding) {
            case scale_rounding::ceil:
            case scale_rounding::rceil: return fraction;
            case scale_rounding::even: return 1 << (22 - f.fraction_bits);
            case scale_rounding::nearest:
            case scale_rounding::floor: break;
        }
        return 0;
    }

    [[gnu::always_inline]] static reals power_of_two(const formula &f, std::int32_t rounding, reals range) {
        const bool by_quotient = f.rule.rounding == scale_rounding::rceil;
        const auto bits = as_integers(by_quotient ? range / f.largest : range) & 0x7fffffff; // NaN may have a sign
        const auto regular = bits < infinity ? bits : of_integers::splat(0); // NaN plus `rounding` would overflow
        auto sum = regular + rounding;
        if (by_quotient) sum = bits <= 1 << 22 ? of_integers::splat(0) : sum; // at most 2^-127
        const auto biased = (sum >> 23) - (by_quotient ? 0 : f.exponent);
        // Infinity's exponent is reached by rounding up. The exponent field of 2^-127 is 0: a subnormal.
        const auto limited = biased > 254 ? of_integers::splat(254) : biased;
        const auto power = limited <= 0 ? of_integers::splat(1 << 22) : limited << 23;
        return as_reals(bits < infinity ? power : of_integers::splat(nan));
    }
};

/// Calls f for a vector, or for each of its lanes if V has one.
template <typename V, typename Vector, typename F>
[[gnu::always_inline]] inline Vector by_vectors_of(Vector x, const F &f) {
    if constexpr (V::lanes > 1)
        return f(static_cast<typename V::reals>(x));
    else
        for (std::size_t i = 0; i < sizeof x / sizeof(float); ++i)
            x[i] = f(x[i]);
    return x;
}

/// Rounds scales to their type, in place: f16 and bf16 overflow to infinity, f8_e4m3 saturates.
template <typename V, typename Vector>
[[gnu::always_inline]] inline Vector rounded_to(data_type type, Vector scale) {
    const auto by = [&](const auto &round) __attribute__((always_inline)) {
        return by_vectors_of<V>(scale, round);
    };
    if (type == data_type::f16) return by([](auto x) { return in_division<V, float16_bits>(x); });
    if (type == data_type::bf16) return by([](auto x) { return in_division<V, bfloat16_bits>(x); });
    if (type == data_type::f8_e4m3) {
        static constexpr auto encoding = small_float_encoding_of<float8_e4m3>(true);
        const narrowing<V> to_codes(encoding);
        return by([&](auto x) { return to_codes.rounded(to_codes.bounded(x)); });
    }
    return scale;
}

template <typename V, int bytes>
found_parameters find_parameters(const numerics_contract::scale_formula &f, const computed_parameters &p) {
    using step = scale_steps<bytes>;
    using reals = typename step::of_reals;
    using integers = typename step::of_integers;
    using real_vector = typename reals::vector;
    constexpr float infinity = __builtin_inff();
    const auto rounding = step::rounding_of(f);
    const auto quotient = f.rule.quotient;
    const bool is_asymmetric = f.rule.range == scale_range::minmax, to_powers = f.scale_type == data_type::f8_e8m0;
    const bool multiplies = quotient != scale_quotient::divide, is_narrow = f.integral && f.rule.narrow;
    const float codes = static_cast<float>(f.highest - f.lowest), offset = static_cast<float>(f.lowest) - magic_bias;
    const float inverse = 1 / p.global, bound = f.integral ? bounded_quotients : 4 * f.largest;
    typename integers::vector irregular = {}, unbounded = {}, numbers;
    for (std::int32_t i = 0; i < integers::lanes; ++i)
        numbers[i] = i;
    for (std::int64_t i = 0; i < p.count; i += reals::lanes) {
        const auto low = reals::load(p.low + i), high = reals::load(p.high + i);
        const auto range = is_asymmetric ? high - low : step::magnitude(low, high);
        const auto scale = to_powers ? step::power_of_two(f, rounding, range)
                                     : rounded_to<V>(f.scale_type, step::unrounded(f, p.global, range));
        reals::store(p.scale + i, scale);
        typename integers::vector zero = {};
        if (p.zero_point) {
            const auto steps = -(low / scale);
            const auto limited = steps < codes ? steps : reals::splat(codes); // NaN too
            const auto positive = limited > 0 ? limited : reals::splat(0.0F);
            zero = __builtin_convertvector(positive + magic_bias + offset, typename integers::vector);
            integers::store(p.zero_point + i, zero);
        }
        auto operand = scale * p.global;
        const auto rescaled = operand;
        if (quotient == scale_quotient::multiply_reciprocal) operand = inverse / scale;
        if (quotient == scale_quotient::multiply_range) operand = f.divisor / range;
        operand = range == 0 ? reals::splat(1.0F) : operand;
        if (p.factor) { // multipliers of integers stand beside scales, which limit src
            reals::store(p.limit + i, multiplies && f.integral ? rescaled : operand);
            reals::store(p.factor + i, operand);
        }
        const auto is_one = numbers < static_cast<std::int32_t>(p.count - i);
        if constexpr (V::lanes > 1)
            if (p.multiplier) {
                auto multiplier = operand;
                real_vector rest = {};
                if (!multiplies) { // fma(x, multiplier, x * rest)
                    multiplier = 1 / operand;
                    rest = residual<V>(operand, multiplier);
                }
                reals::store(p.multiplier + i, multiplier);
                reals::store(p.residual + i, rest);
                const auto largest = range * multiplier; // NaN is not bounded
                const auto is_bounded = (largest < bound) & (operand > 1 / two_to_75) & (operand < two_to_75);
                unbounded |= ~is_bounded & is_one;
            }
        if (!is_narrow) continue;
        // The element of the lowest code: that is -128 if it is half a step beyond -127.
        const auto x = p.zero_point ? -low : range;
        const auto steps = multiplies ? x * operand : x / operand;
        const auto limit = __builtin_convertvector(zero - f.lowest, real_vector) + 0.5F;
        const auto is_regular = ((steps < 0 ? -steps : steps) < limit) & (scale < infinity) & (operand < infinity);
        irregular |= ~is_regular & is_one;
    }
    const auto is_none = [](const auto &found) {
        std::int32_t any = 0;
        for (std::int64_t i = 0; i < integers::lanes; ++i)
            any |= found[i];
        return any == 0;
    };
    return {is_none(irregular), is_none(unbounded)};
}

} // namespace
} // namespace dynquant::kernels::native
