// The error function of f32.
#pragma once

#include "layers/epilogue/isa/polynomial.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

/// erf(x), by the formula of N. Juffa (stackoverflow.com/questions/35148198), which ONNX Runtime's Erf uses as well:
/// its results have these bits on processors with FMA. Each fma() is rounded once. Up to 0.921875, with a = |x|:
///     a + a p(a^2)
/// and beyond, where the result is 1 from 3.925 on:
///     1 - exp(-(a + a q(a)))
/// exp(-z) is 2^n exp(f) with n = -z / ln 2 rounded and a polynomial for f. NaN stays NaN, and -0 is -0. The largest
/// error of all floats is 1.0013 units in the last place, at 1.19978797.
template <typename V>
[[gnu::always_inline]] inline typename V::reals erf(typename V::reals x) {
    using F = simd::fused<V>;
    constexpr float near_terms[] = {
            -5.99104969e-4F, 4.99339588e-3F, -2.67667342e-2F, 1.12818025e-1F, -3.76124859e-1F, 1.28379151e-1F};
    constexpr float far_terms[] = {1.72948930e-5F, -3.83208680e-4F, 3.88393435e-3F, -2.42545605e-2F, 1.06777847e-1F,
            6.34846687e-1F, 1.28717512e-1F};
    constexpr float exp_terms[] = {
            1.38319808e-3F, 8.37550033e-3F, 4.16689515e-2F, 1.66664466e-1F, 4.99999851e-1F, 1, 1};
    constexpr float boundary = 0.921875F, limit = 3.925F, log2_e = 1.44269504F;
    constexpr float ln2_high = 6.93145752e-1F, ln2_low = 1.42860677e-6F;
    constexpr float to_integer = 0x1.8p23F; // f32 of this size are integers
    const auto a = V::min(V::splat(limit), V::abs(x));
    const auto near = F::fma(polynomial<V>(near_terms, a * a), a, a);
    const auto power = V::splat(0.0F) - F::fma(polynomial<V>(far_terms, a), a, a);
    const auto rounded = F::fma(power, V::splat(log2_e), V::splat(to_integer)), n = rounded - V::splat(to_integer);
    const auto f = F::fma(n, V::splat(-ln2_low), F::fma(n, V::splat(-ln2_high), power));
    // The last bits of `rounded` are n, at least -23: the exponent stays that of a normal number.
    const auto exponent = V::template shift_left<23>(V::as_integers(rounded));
    const auto exp = V::as_reals(V::add(V::as_integers(polynomial<V>(exp_terms, f)), exponent));
    return V::copy_sign(V::select_less(V::splat(boundary), a, V::splat(1.0F) - exp, near), x);
}

} // namespace
} // namespace dynquant::layers
