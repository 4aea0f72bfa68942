// Floats of 8 bits and fewer from and to f32, a vector at a time, without branches; small_float.hpp says what they
// mean.
#pragma once

#include <cstdint>

#include "quantization/small_float.hpp"

namespace dynquant::kernels::native {
namespace {

/// Of bits with zeros above them.
template <typename V, typename Float>
typename V::reals widened(typename V::integers bits) {
    constexpr std::int32_t implicit = 1 << 23, rebased = (127 - Float::bias) * implicit, infinity = 0x7f800000;
    constexpr auto least_normal = __builtin_bit_cast(float, rebased + implicit);
    constexpr int dropped = 23 - Float::fraction_bits, to_sign = __builtin_clz(Float::sign_bit);
    const auto magnitude = V::bit_and(bits, V::splat(std::int32_t {Float::sign_bit - 1}));
    const auto normal = V::add(V::template shift_left<dropped>(magnitude), V::splat(rebased));
    // Subnormal here, normal there: an implicit bit is lent and taken away.
    const auto lent = V::subtract(V::as_reals(V::add(normal, V::splat(implicit))), V::splat(least_normal));
    auto value =
            V::select_less(magnitude, V::splat(std::int32_t {1 << Float::fraction_bits}), V::as_integers(lent), normal);
    if constexpr (Float::has_nan && Float::has_minus_0)
        value = V::select_less(V::splat(std::int32_t {Float::highest}), magnitude,
                V::bit_or(normal, V::splat(infinity)), value); // with a fraction it is NaN
    const auto sign = V::bit_and(V::template shift_left<to_sign>(bits), V::splat(INT32_MIN));
    value = V::bit_or(value, sign);
    if constexpr (!Float::has_minus_0)
        value = V::select_less(value, V::splat(INT32_MIN + 1), V::splat(infinity + 1), value);
    return V::as_reals(value);
}

/// Round to nearest, ties to even, under the mode that the caller has set. What is beyond the highest number becomes
/// what comes next, infinity or NaN, unless it saturates.
template <typename V, typename Float, bool saturates>
[[gnu::always_inline]] inline typename V::integers narrowed(typename V::reals x) {
    constexpr std::int32_t implicit = 1 << 23, rebased = (127 - Float::bias) * implicit, infinity = 0x7f800000;
    constexpr std::int32_t least_normal = rebased + implicit;
    constexpr std::int32_t highest = Float::highest, after_highest = saturates ? highest : highest + 1;
    constexpr int dropped = 23 - Float::fraction_bits, to_sign = __builtin_clz(Float::sign_bit);
    constexpr std::int32_t just_below_half = (1 << (dropped - 1)) - 1;
    const auto bits = V::as_integers(x), given = V::as_integers(V::abs(x));
    const auto odd = V::bit_and(V::template shift_right<dropped>(given), V::splat(1));
    const auto nudged = V::add(V::add(given, V::splat(just_below_half - rebased)), odd);
    const auto normal = V::min(V::template shift_right<dropped>(nudged), V::splat(after_highest));
    // A float whose last bit counts the least subnormal: adding it rounds to that, and leaves it in the last bits.
    constexpr std::int32_t counter = least_normal + dropped * implicit;
    const auto counted = V::as_integers(V::add(V::as_reals(given), V::splat(__builtin_bit_cast(float, counter))));
    const auto subnormal = V::subtract(counted, V::splat(counter));
    const auto magnitude = V::select_less(given, V::splat(least_normal), subnormal, normal);
    const auto sign = V::bit_and(V::template shift_right<to_sign>(bits), V::splat(std::int32_t {Float::sign_bit}));
    auto code = V::bit_or(magnitude, sign);
    if constexpr (!Float::has_minus_0) code = V::select_less(V::splat(0), magnitude, code, magnitude);
    if constexpr (Float::has_nan && after_highest == std::int32_t {Float::quiet_nan})
        return code; // what lies beyond all numbers has become NaN already
    return V::select_less(V::splat(infinity), given, V::splat(std::int32_t {Float::quiet_nan}), code);
}

// Elements as vectors: integers as V::integers, and all floats as V::reals.

template <typename V, typename T>
auto load(const T *p) {
    return V::load(p);
}
template <typename V, int exponent_bits, int fraction_bits, specials special>
auto load(const small_float<std::uint8_t, exponent_bits, fraction_bits, special> *p) {
    return widened<V, small_float<std::uint8_t, exponent_bits, fraction_bits, special>>(V::load(&p->bits));
}

template <typename V, typename T>
auto load_partial(const T *p, std::int64_t count) {
    return V::load_partial(p, count);
}
template <typename V, int exponent_bits, int fraction_bits, specials special>
auto load_partial(const small_float<std::uint8_t, exponent_bits, fraction_bits, special> *p, std::int64_t count) {
    return widened<V, small_float<std::uint8_t, exponent_bits, fraction_bits, special>>(
            V::load_partial(&p->bits, count));
}

} // namespace
} // namespace dynquant::kernels::native
