// The division by two operations is exact for exactly the scales that has_exact_two_part_reciprocal accepts. This tries
// every 24-bit significand with every dividend whose quotient is next to a midpoint. The sum before the last rounding
// is within 2^-47 of the quotient, so other dividends cannot go wrong; see division.cpp. Rounded to 11 bits the
// division is exact for all scales.
#include "kernels/native/formulas/two_part.hpp"

#include <atomic>
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "hard_dividends.hpp"

namespace dynquant::test {
namespace {

using kernels::native::has_exact_two_part_reciprocal;
using kernels::native::reciprocal_residual;

/// Calls f(RN(x high + RN(x low)), RN(x / s)) for all hard dividends x.
template <typename F>
void for_each_hard_quotient(std::uint32_t divisor, F &&f) {
    const auto s = static_cast<float>(divisor);
    const float high = 1 / s, low = std::fma(-high, s, 1.0f) / s;
    for_each_hard_dividend(divisor, [&](std::uint32_t dividend, std::uint32_t, std::uint32_t mantissa, int k) {
        const auto x = static_cast<float>(dividend);
        f(std::fma(x, high, x * low), std::ldexp(static_cast<float>(mantissa), -k));
    });
}

bool is_exact_for_hard_dividends(std::uint32_t divisor) {
    bool exact = true;
    for_each_hard_quotient(divisor, [&](float by_parts, float quotient) { exact &= by_parts == quotient; });
    return exact;
}

/// Whether a float has at most `bits` significant bits.
bool has_bits(float x, int bits) {
    return (std::bit_cast<std::uint32_t>(x) & ((1u << (24 - bits)) - 1)) == 0;
}

TEST(two_part_reciprocal, is_accepted_for_exactly_the_scales_that_it_divides_by) {
    std::atomic<std::int64_t> refused = 0, wrongly_accepted = 0, wrongly_refused = 0;
    for_each_divisor([&](std::uint32_t s) {
        const bool accepted = has_exact_two_part_reciprocal(static_cast<float>(s));
        const bool exact = is_exact_for_hard_dividends(s);
        refused += !accepted;
        wrongly_accepted += accepted && !exact;
        wrongly_refused += !accepted && exact;
    });
    EXPECT_EQ(wrongly_accepted, 0);
    EXPECT_EQ(wrongly_refused, 0);
    EXPECT_EQ(refused, 106762); // found by a search over all k up to 8 in exact arithmetic
}

/// Where the two quotients differ they are neighbours, and neither is a number of 12 bits. Midpoints between numbers of
/// 11 bits have 12 bits, so both quotients are on the same side of every midpoint. Some have 13 bits.
TEST(two_part_reciprocal, is_exact_for_all_scales_once_it_is_rounded_to_11_bits) {
    std::atomic<std::int64_t> differing = 0, apart = 0, of_12_bits = 0, of_13_bits = 0;
    for_each_divisor([&](std::uint32_t s) {
        for_each_hard_quotient(s, [&](float by_parts, float quotient) {
            if (by_parts == quotient) return;
            ++differing;
            apart += std::nextafter(by_parts, quotient) != quotient;
            of_12_bits += has_bits(by_parts, 12) || has_bits(quotient, 12);
            of_13_bits += has_bits(by_parts, 13) || has_bits(quotient, 13);
        });
    });
    EXPECT_EQ(differing, 106762);
    EXPECT_EQ(apart, 0);
    EXPECT_EQ(of_12_bits, 0);
    EXPECT_GT(of_13_bits, 0);
}

TEST(two_part_reciprocal, residual_is_the_rounded_quotient) {
    std::atomic<std::int64_t> wrong = 0;
    for_each_divisor([&](std::uint32_t s) {
        for (const int exponent : {-75 - 23, 0, 74 - 23}) {
            const float scale = std::ldexp(static_cast<float>(s), exponent), high = 1 / scale;
            wrong += reciprocal_residual(scale, high) != std::fma(-high, scale, 1.0f) / scale;
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST(two_part_reciprocal, does_not_depend_on_the_exponent) {
    for (std::uint32_t s = two_23; s < two_23 + 20000; ++s)
        for (const int exponent : {-75 - 23, -30, 0, 75 - 23 - 1})
            ASSERT_EQ(has_exact_two_part_reciprocal(std::ldexp(static_cast<float>(s), exponent)),
                    has_exact_two_part_reciprocal(static_cast<float>(s)))
                    << s << " * 2^" << exponent;
}

} // namespace
} // namespace dynquant::test
