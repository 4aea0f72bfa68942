// Division by a constant in two operations (Brisebarre, Muller and Raina, "Accelerating correctly rounded
// floating-point division when the divisor is known in advance", IEEE Transactions on Computers, 2004):
// with high = RN(1 / s) and low = RN((1 - high s) / s), fma(x, high, RN(x low)) is nearly always RN(x / s). Otherwise
// it is an adjacent float, and both have more than 12 significant bits, as tests/kernels/native/two_part_reciprocal.cpp
// shows by enumeration. Rounding either to a number of up to 11 bits, or to an integer below 2^11, gives the same
// result: midpoints between such numbers have 12 bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/native/formulas/common.hpp"

namespace dynquant::kernels::native {
namespace {

/// RN((1 - reciprocal * scale) / scale), where reciprocal is RN(1 / scale). The fused difference is exact, and three
/// operations divide it, as corrected_quotient does, which saves a division.
/// tests/kernels/native/two_part_reciprocal.cpp enumerates every significand.
inline float reciprocal_residual(float scale, float reciprocal) {
    const float rest = __builtin_fmaf(-reciprocal, scale, 1.0F), estimate = rest * reciprocal;
    return __builtin_fmaf(__builtin_fmaf(-estimate, scale, rest), reciprocal, estimate);
}

/// Whether the two operations give RN(x / scale) for every x, over- and underflow aside.
///
/// Let X and Y be the 24-bit significands of x and scale. Where both numbers are from 1 to 2, the sum misses x / scale
/// by at most 2^-48 before its one rounding (proofs/two_operations.g). So it can only round wrongly where the quotient
/// is that close to a midpoint of two floats, M / 2^e with an odd M of 25 bits: e is 24 where X >= Y, and 25 otherwise.
/// Then X 2^e - M Y = k with |k| <= 2^(e - 48) Y < 2^(e - 24), and k is not 0, as 2^24 does not divide M Y. That leaves
/// e = 25 and k = 1 or -1, so Y is odd, and X = k 2^-25 (mod Y): two candidates below Y, which are tried.
/// tests/kernels/native/two_part_reciprocal.cpp enumerates every significand.
inline bool has_exact_two_part_reciprocal(float scale) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &scale, sizeof(bits));
    const std::uint64_t y = (bits & 0x7fffffU) | 0x800000U;
    if (y % 2 == 0) return true;

    const std::uint64_t half = (y + 1) / 2; // 2^-1 (mod y); below, its powers
    const std::uint64_t half3 = half * half % y * half % y, half6 = half3 * half3 % y, half12 = half6 * half6 % y;
    const std::uint64_t x = half12 * half12 % y * half % y; // 2^-25

    const auto divisor = static_cast<float>(y), high = 1 / divisor, low = reciprocal_residual(divisor, high);
    const auto exact = [=](std::uint64_t significand) {
        const auto dividend = static_cast<float>(significand);
        return __builtin_fmaf(dividend, high, dividend * low) == dividend / divisor;
    };
    return exact(x) && exact(y - x);
}

/// RN((1 - reciprocal scale) / scale), the residual of a reciprocal.
template <typename V>
typename V::reals residual(typename V::reals scale, typename V::reals reciprocal) {
    const auto rest = V::negated_fma(reciprocal, scale, V::splat(1.0F)), estimate = rest * reciprocal;
    return V::fma(V::negated_fma(estimate, scale, rest), reciprocal, estimate);
}

/// Reciprocals and their residuals. There are no zero points.
struct two_part_parameters {
    float *scale, *high, *low;
};

inline void to_residuals(std::int64_t count, const two_part_parameters &p) {
    for (std::int64_t i = 0; i < count; ++i)
        p.low[i] = reciprocal_residual(p.scale[i], p.high[i]);
}

/// x / s + zp inside the guard by two operations. If x is near -FLT_MAX and the scale below 2^-24, x * low may overflow
/// to +infinity where `low` is negative. So does the result then, and packing turns it into the lowest value.
template <typename V, typename Zero>
struct two_part {
    typename V::reals high, low, limit;
    Zero zero;
    auto operator()(typename V::reals x) const { return unlimited(limited<V>(limit, x)); }
    /// For magnitudes, of which NaN stays NaN.
    auto of_magnitude(typename V::reals x) const { return unlimited(V::min(limit, x)); }

  private:
    auto unlimited(typename V::reals x) const { return zero.added_to(V::fma(x, high, x * low)); }
};

/// two_part without zero points. The preparation computes the residuals.
template <typename V>
struct two_part_product : two_part<V, no_zero<V>> {
    using parameters = two_part_parameters;
    static two_part_product from(auto take, float limit = two_to_22) {
        return {{take(take.p.high), take(take.p.low), take(take.p.scale) * V::splat(limit), {}}};
    }
};

/// two_part with zero points, whose place the residuals cannot take. from() computes these, which pays for long rows
/// only.
template <typename V, typename Zero>
struct two_part_and_zero : two_part<V, Zero> {
    using parameters = quotient_parameters<typename Zero::element>;
    using zero_kind = Zero;
    static two_part_and_zero of(
            typename V::reals scale, typename V::reals reciprocal, Zero zero, float limit = two_to_22) {
        return {{reciprocal, residual<V>(scale, reciprocal), scale * V::splat(limit), zero}};
    }
    static two_part_and_zero from(auto take, float limit = two_to_22) {
        return of(take(take.p.scale), take(take.p.reciprocal), Zero::from(take(take.p.zero_point)), limit);
    }
};

} // namespace
} // namespace dynquant::kernels::native
