// The division by three operations is exact: a proof that enumerates all divisors. proofs/three_operations.v is another
// one, checked by Coq, without an enumeration, and for all exponents inside the guard.
//
//     z = RN(1 / s),  q0 = RN(x z),  q = RN(RN(x - q0 s) z + q0)        (two fused multiply-adds)
//
// Claim: q = RN(x / s) whenever nothing overflows or underflows on the way, which the guard sees to.
//
// Scaling x or s by a power of two scales every line alike, and signs only carry through: so let
// x = X / 2^23 and s = S / 2^23 with integers X, S in [2^23, 2^24).
//
// Write z = (1 + a) / s, q0 = x z (1 + b) and the residual RN(x - q0 s) = (x - q0 s)(1 + c), where
// |a|, |b|, |c| <= 2^-24. With d = a + b + a b the residual is -x d (1 + c), so before the last rounding
//
//     v = q0 + residual z = (x / s)(1 + d - d (1 + c)(1 + a)) = (x / s)(1 - d (a + c + a c)),
//
// and |d|, |a + c + a c| <= 2^-23 + 2^-48: v is within 2^-46 (1 + 2^-23) of x / s, relatively. The
// last rounding can go wrong only if a midpoint between two neighbouring floats lies between v and x / s.
//
// Let M / 2^k be that midpoint, M odd in [2^24, 2^25): k = 24 when X >= S (the quotient is in [1, 2)) and
// k = 25 when X < S (it is in (1/2, 1)). Then c = 2^k X - M S is an integer with
// |c| <= 2^(k-46) (1 + 2^-23) X, that is |c| <= 4 for k = 24, and |c| <= 8 for k = 25. It is not 0: 2^24
// does not divide M S, as M is odd and S < 2^24.
//
// So for each S and c only M with M S = -c (mod 2^k) are left. With S = 2^j S', S' odd, M odd requires
// that 2^j divides c and 2^(j+1) does not; M = -(c / 2^j) / S' (mod 2^(k-j)), and each such M gives
// X = (M S + c) / 2^k. Some 40 million pairs (X, S) are left, and all are tried. What RN(x / s) is, the sign of c
// tells: the quotient is above the midpoint, so (M + 1) / 2^k, or below it, so (M - 1) / 2^k.
#include <atomic>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "hard_dividends.hpp"

namespace dynquant::test {
namespace {

float divide_by_three_operations(float x, float s) {
    const float z = 1.0f / s;
    const float q0 = x * z;
    return std::fma(std::fma(-q0, s, x), z, q0);
}

struct tally {
    std::atomic<std::int64_t> tried = 0, wrong = 0, wrong_by_reciprocal = 0;
};

void try_divisor(std::uint32_t divisor, tally &total) {
    std::int64_t tried = 0, wrong = 0, wrong_by_reciprocal = 0;
    for_each_hard_dividend(divisor, [&](std::uint32_t dividend, std::uint32_t, std::uint32_t mantissa, int k) {
        const auto x = static_cast<float>(dividend), s = static_cast<float>(divisor);
        const float exact = std::ldexp(static_cast<float>(mantissa), -k);
        ++tried;
        wrong += divide_by_three_operations(x, s) != exact;
        wrong_by_reciprocal += x * (1.0f / s) != exact;
    });
    total.tried += tried;
    total.wrong += wrong;
    total.wrong_by_reciprocal += wrong_by_reciprocal;
}

TEST(division, enumeration_finds_quotients_next_to_midpoints) {
    // Each dividend that is found is checked by the definition, in integers.
    std::int64_t found = 0;
    for (std::uint32_t s = two_23; s < two_23 + 4096; ++s)
        for_each_hard_dividend(s, [&](std::uint32_t x, std::uint32_t divisor, std::uint32_t mantissa, int k) {
            const auto twice_mantissa = 2 * std::uint64_t {mantissa};
            const auto scaled = std::uint64_t {x} << (k + 1);
            // |X / S - mantissa / 2^k| is half a unit (a unit is 2 / 2^k) less at most 8 / (2^k S).
            const auto distance = scaled > twice_mantissa * divisor ? scaled - twice_mantissa * divisor
                                                                    : twice_mantissa * divisor - scaled;
            ASSERT_LT(distance, 2 * std::uint64_t {divisor});
            ASSERT_GE(distance, 2 * std::uint64_t {divisor} - 16);
            ++found;
        });
    EXPECT_GT(found, 0);
}

TEST(division, enumeration_misses_no_quotient_next_to_a_midpoint) {
    // All X for a few S, by brute force: the distance to the nearest midpoint in units of 1 / (2^k S).
    for (const std::uint32_t s : {two_23 + 1, two_23 + 2, two_23 + 12, 12345678u, 11184811u, two_24 - 8, two_24 - 1}) {
        std::int64_t expected = 0, found = 0;
        for (std::uint32_t x = two_23; x < two_24; ++x) {
            const int k = x >= s ? 24 : 25;
            const auto scaled = std::uint64_t {x} << k;
            const auto odd = scaled / s | 1; // the odd one of the two integers around the quotient, or above it
            for (const auto m : {odd - 2, odd, odd + 2}) {
                const auto c = static_cast<std::int64_t>(scaled - m * s);
                expected += std::abs(c) <= 8 && m >= two_24 && m < two_25;
            }
        }
        for_each_hard_dividend(s, [&](auto...) { ++found; });
        EXPECT_EQ(found, expected) << "divisor " << s;
    }
}

TEST(division, three_operations_are_exact_for_every_divisor) {
    tally total;
    for_each_divisor([&](std::uint32_t s) { try_divisor(s, total); });
    EXPECT_EQ(total.wrong, 0);
    // The quotients are hard: multiplication by the reciprocal gets many of them wrong.
    EXPECT_GT(total.tried, 20'000'000);
    EXPECT_GT(total.wrong_by_reciprocal, total.tried / 4);
}

// ---- Operands of f16 and bf16 ----------------------------------------------------------------------

// The quotient of operands of f16 or bf16, rounded to their type, equals the rounded product with the reciprocal:
// formulas/to_integers.hpp says why. Significands are so short that all pairs can be tried. Rounding is Veltkamp's
// splitting, after the product or fused with it.

float rounded_product(float x, float s, int bits) {
    const float product = x * (1.0f / s), scaled = product * static_cast<float>((1 << (24 - bits)) + 1);
    return scaled - (scaled - product);
}

float split_product(float x, float s, int bits) {
    const float reciprocal = 1.0f / s, scaled = x * (reciprocal * static_cast<float>((1 << (24 - bits)) + 1));
    return scaled - std::fma(-x, reciprocal, scaled);
}

/// x / s rounded to nearest with a significand of `bits` bits, in integer arithmetic. Ties do not occur.
float rounded_quotient(std::uint32_t x, std::uint32_t s, int bits) {
    const int k = x >= s ? bits - 1 : bits; // the mantissa has `bits` bits
    const auto scaled = x << (k + 1), twice = scaled / s;
    EXPECT_FALSE(twice % 2 == 1 && twice * s == scaled) << x << " / " << s << " is a tie";
    return std::ldexp(static_cast<float>((twice + 1) / 2), -k);
}

TEST(division, a_product_is_exact_for_every_quotient_of_11_and_8_bits) {
    for (const int bits : {11, 8})
        for (auto s = 1u << (bits - 1); s < 1u << bits; ++s)
            for (auto x = 1u << (bits - 1); x < 1u << bits; ++x) {
                const float quotient = rounded_quotient(x, s, bits);
                for (const auto product : {rounded_product, split_product})
                    ASSERT_EQ(product(static_cast<float>(x), static_cast<float>(s), bits), quotient)
                            << x << " / " << s << " in " << bits << " bits";
            }
}

} // namespace
} // namespace dynquant::test
