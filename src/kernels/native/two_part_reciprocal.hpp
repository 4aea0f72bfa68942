// Division by a constant in two operations (Brisebarre, Muller and Raina, "Accelerating correctly rounded
// floating-point division when the divisor is known in advance", IEEE Transactions on Computers, 2004):
// with high = RN(1 / s) and low = RN((1 - high s) / s), fma(x, high, RN(x low)) is nearly always RN(x / s). Otherwise
// it is an adjacent float, and both have more than 12 significant bits, as tests/kernels/native/two_part_reciprocal.cpp
// shows by enumeration. Rounding either to a number of up to 11 bits, or to an integer below 2^11, gives the same
// result: midpoints between such numbers have 12 bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace dynquant::kernels::native {
namespace {

/// RN((1 - reciprocal * scale) / scale), where reciprocal is RN(1 / scale). The fused differences are exact, and the
/// corrected product is the correctly rounded quotient (Markstein, 1990). This saves a division.
inline float reciprocal_residual(float scale, float reciprocal) {
    const float rest = __builtin_fmaf(-reciprocal, scale, 1.0F), estimate = rest * reciprocal;
    return __builtin_fmaf(__builtin_fmaf(-estimate, scale, rest), reciprocal, estimate);
}

/// Whether the two operations give RN(x / scale) for every x, over- and underflow aside.
///
/// Let X and Y be the 24-bit significands of x and scale. The sum misses x / scale by less than 2^-48 of it
/// before its one rounding, so it can only round wrongly where X / Y is that close to a midpoint M of two
/// 24-bit numbers: X 2^e - M Y = k, M odd, with e = 24 where X >= Y and 25 otherwise, and |k| < 2. That leaves
/// k = 1 and -1, so Y is odd and X = k 2^-e (mod Y): four candidates, which are tried.
/// tests/kernels/native/two_part_reciprocal.cpp enumerates every significand.
inline bool has_exact_two_part_reciprocal(float scale) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &scale, sizeof(bits));
    const std::uint64_t y = (bits & 0x7fffffU) | 0x800000U;
    if (y % 2 == 0) return true;

    const std::uint64_t half = (y + 1) / 2; // 2^-1 (mod y); below, its powers
    const std::uint64_t half3 = half * half % y * half % y, half6 = half3 * half3 % y, half12 = half6 * half6 % y;
    const std::uint64_t half24 = half12 * half12 % y, half25 = half24 * half % y;

    const auto divisor = static_cast<float>(y), high = 1 / divisor, low = reciprocal_residual(divisor, high);
    const auto exact = [=](std::uint64_t significand) {
        const auto x = static_cast<float>(significand);
        return __builtin_fmaf(x, high, x * low) == x / divisor;
    };
    // X lies in [y, 2^24) for e = 24 and below y for e = 25. No x has a significand of more than 24 bits.
    constexpr std::uint64_t end = 1 << 24;
    return (half24 + y >= end || exact(half24 + y)) && (2 * y - half24 >= end || exact(2 * y - half24)) && exact(half25)
            && exact(y - half25);
}

} // namespace
} // namespace dynquant::kernels::native
