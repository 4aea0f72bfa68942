// Halves divided by a half, where the instruction set computes with halves.
#pragma once

#include <cstdint>

#include "kernels/native/formulas.hpp"

namespace dynquant::kernels::native {
namespace {

/// Whether half_product divides by it, a half. Of the 1024 significands one, 2023, is rounded wrongly for one x; larger
/// scales have a lower part that is subnormal and lacks bits, and a limit that is no half.
inline bool has_exact_half_product(float scale) {
    constexpr std::int32_t significand_bits = 0x7fffff, missed = (2023 - 1024) << 13;
    return 0x1p-14F <= scale && scale < 4 && (bits_of(scale) & significand_bits) != missed;
}

/// RNE(x / s) + zp of halves to integers of 8 bits: x * (high + low), as two_part_product. It misses the quotient by up
/// to 2^-21 of it, and midpoints between halves may be 2^-23 away (see limited_product): that none is on the wrong side
/// is shown by enumeration, of all x and all significands of s, in tests/unit.
/// - Quotients below 1/2 are 0, whatever their last bits. Of others, x * low misses 2^-24 at most where it is
/// subnormal.
/// - x is limited to 2^14 s, which is a half and saturates whatever the zero point. What overflows at the other end is
///   -infinity or NaN or, if x * low does, infinity: all become the lowest integer.
template <typename V, typename H = typename V::halves>
struct half_product {
    typename H::reals high, low, limit;
    typename H::integers zero_point;

    static half_product from(const auto &t, only<V> take) {
        const auto scale = t.scale[take.i], reciprocal = t.reciprocal[take.i], high = H::rounded(reciprocal);
        return {H::splat(high), H::splat(__builtin_fmaf(-high, scale, 1.0F) * reciprocal), H::splat(scale * 0x1p14F),
                H::splat(t.zero_point[take.i])};
    }

    [[gnu::always_inline]] typename H::integers operator()(typename H::reals x) const {
        x = H::min(limit, x);
        return H::saturated_sum(H::fma(x, high, H::mul(x, low)), zero_point);
    }
};

/// The vectors that a formula computes.
template <typename V, typename Formula>
struct vectors_of {
    using type = V;
};
template <typename V, typename H>
struct vectors_of<V, half_product<V, H>> {
    using type = H;
};

} // namespace
} // namespace dynquant::kernels::native
