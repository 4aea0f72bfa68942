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
    return 0x1p-14F <= scale && scale < 4 && (__builtin_bit_cast(std::int32_t, scale) & significand_bits) != missed;
}

/// RNE(x / s) + zp of halves to integers of 8 bits: x * (high + low), as two_part_product. It misses the quotient by up
/// to 2^-21 of it, and midpoints between halves may be 2^-23 away (see limited_product): that none is on the wrong side
/// is shown by enumeration, of all x and all significands of s, in tests/unit.
/// - Quotients below 1/2 are 0, whatever their last bits. Of others, x * low misses 2^-24 at most where it is
/// subnormal.
/// - x is limited to 2^14 s, which is a half and saturates whatever the zero point. What overflows at the other end is
///   -infinity or NaN or, if x * low does, infinity: all become the lowest integer.
template <typename H>
struct half_product {
    typename H::reals high, low, limit;
    typename H::integers zero_point;

    static half_product from(broadcast<H> take) {
        const auto scale = take.c.scale[take.i], reciprocal = take.c.reciprocal[take.i], high = H::rounded(reciprocal);
        const auto zero_point = static_cast<std::int32_t>(take.c.zero[take.i] + rounder); // as preparation left it
        return {H::splat(high), H::splat(__builtin_fmaf(-high, scale, 1.0F) * reciprocal), H::splat(scale * 0x1p14F),
                H::splat(zero_point)};
    }

    [[gnu::always_inline]] typename H::integers operator()(typename H::reals x) const {
        x = H::min(limit, x);
        return H::saturated_sum(H::fma(x, high, x * low), zero_point);
    }
};

} // namespace
} // namespace dynquant::kernels::native
