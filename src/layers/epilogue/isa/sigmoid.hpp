// The logistic function of f32, and the hyperbolic tangent.
#pragma once

#include "layers/epilogue/isa/polynomial.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

/// 2^scale / (1 + exp(a)) of a from 0 to 104. With n = a / ln 2 rounded and f = a - n ln 2, by a difference in two
/// parts (W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980), exp(a) is 2^n exp(f), and the
/// result
///     2^(scale - n) / (1 + (2^-n + f g(f)))     where exp(f) = 1 + f g(f)
/// which rounds the denominator twice, as 1 + exp(a) does, but the first time a number below 1 unless n is 0. A scale
/// of 64 keeps the numerator from being subnormal. g is the polynomial of degree 5 with g(0) = 1 of least relative
/// error of exp(f), 0.05 * 2^-24 on |f| <= ln(2) / 2, by a Remez exchange in 40 digits.
template <typename V, int scale>
[[gnu::always_inline]] inline typename V::reals complement(typename V::reals a) {
    using F = simd::fused<V>;
    static_assert(scale == 0 || scale == 64);
    constexpr float g[] = {1.38144696e-3F, 8.36878037e-3F, 4.16683927e-2F, 1.66665196e-1F, 4.99999940e-1F, 1};
    constexpr float log2_e = 1.44269504F, ln2_high = 6.93145752e-1F, ln2_low = 1.42860677e-6F;
    constexpr float to_integer = 0x1.8p23F + scale + 127; // f32 of this size are integers; 127: bias of the exponent
    const auto rounded = F::fma(a, V::splat(-log2_e), V::splat(to_integer)), minus_n = rounded - V::splat(to_integer);
    const auto f = F::fma(minus_n, V::splat(ln2_low), F::fma(minus_n, V::splat(ln2_high), a));
    // The last bits of `rounded` are scale - n + 127, above 0: the exponent of a normal number.
    const auto numerator = V::as_reals(V::template shift_left<23>(V::as_integers(rounded)));
    auto power = numerator;
    if constexpr (scale != 0) power = power * V::splat(0x1p-64F);
    return numerator / (V::splat(1.0F) + F::fma(f, polynomial<V>(g, f), power));
}

/// 1 / (1 + exp(-x)) is the complement of |x| where x is negative, however small and also where it is subnormal, else 1
/// less it. NaN stays NaN, infinities give 0 and 1, and of two floats the larger one has no smaller result. The largest
/// error of all floats is 1.99906 units in the last place, at -3.44991800e-4; of results below 2^-126, 1.23 * 2^-149.
template <typename V>
[[gnu::always_inline]] inline typename V::reals sigmoid(typename V::reals x) {
    using F = simd::fused<V>;
    constexpr float limit = 104; // exp(-104) rounds to 0
    const auto scaled = complement<V, 64>(V::min(V::splat(limit), V::abs(x)));
    return V::select_less(
            x, V::splat(0.0F), scaled * V::splat(0x1p-64F), F::fma(scaled, V::splat(-0x1p-64F), V::splat(1.0F)));
}

/// tanh(x) is, up to 0.625 and with a = |x|,
///     a + a (a^2 p(a^2))
/// and beyond 1 - 2 / (1 + exp(2 a)), which is 1 from 9.02 on, as that of W. Cody and W. Waite from ln(3) / 2 on. p is
/// the polynomial of degree 4 of least relative error, 0.07 * 2^-24, by a Remez exchange in 40 digits. NaN stays NaN,
/// -0 is -0, and of two floats the larger one has no smaller result. The largest error of all floats is 1.21339 units
/// in the last place, at 0.633705437.
template <typename V>
[[gnu::always_inline]] inline typename V::reals tanh(typename V::reals x) {
    using F = simd::fused<V>;
    constexpr float p[] = {-5.70498780e-3F, 2.06390880e-2F, -5.37397154e-2F, 1.33314401e-1F, -3.33332819e-1F};
    constexpr float boundary = 0.625F, limit = 10;
    const auto a = V::min(V::splat(limit), V::abs(x)), square = a * a;
    const auto near = F::fma(polynomial<V>(p, square) * square, a, a);
    const auto far = F::fma(complement<V, 0>(a + a), V::splat(-2.0F), V::splat(1.0F));
    return V::copy_sign(V::select_less(V::splat(boundary), a, far, near), x);
}

} // namespace
} // namespace dynquant::layers
