// The division by two operations is exact for the scales that has_exact_two_part_reciprocal accepts, and it
// refuses no other: every 24-bit significand, with every dividend whose quotient is next to a midpoint. The
// sum before the last rounding is within 2^-47 of the quotient, which is nearer than the dividends that are
// left out; see division.cpp.
#include "kernels/native/two_part_reciprocal.hpp"

#include <atomic>
#include <cmath>

#include <gtest/gtest.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "hard_dividends.hpp"

namespace dynquant::test {
namespace {

using kernels::native::has_exact_two_part_reciprocal;

/// Whether RN(x high + RN(x low)) is right for all hard dividends.
bool is_exact_for_hard_dividends(std::uint32_t divisor) {
    const auto s = static_cast<float>(divisor);
    const float high = 1 / s, low = std::fma(-high, s, 1.0f) / s;
    bool exact = true;
    for_each_hard_dividend(divisor, [&](std::uint32_t dividend, std::uint32_t, std::uint32_t mantissa, int k) {
        const auto x = static_cast<float>(dividend);
        exact &= std::fma(x, high, x * low) == std::ldexp(static_cast<float>(mantissa), -k);
    });
    return exact;
}

TEST(two_part_reciprocal, is_accepted_for_exactly_the_scales_that_it_divides_by) {
    std::atomic<std::int64_t> refused = 0, wrongly_accepted = 0, wrongly_refused = 0;
    tbb::parallel_for(tbb::blocked_range<std::uint32_t>(two_23, two_24), [&](const auto &divisors) {
        for (auto s = divisors.begin(); s != divisors.end(); ++s) {
            const bool accepted = has_exact_two_part_reciprocal(static_cast<float>(s));
            const bool exact = is_exact_for_hard_dividends(s);
            refused += !accepted;
            wrongly_accepted += accepted && !exact;
            wrongly_refused += !accepted && exact;
        }
    });
    EXPECT_EQ(wrongly_accepted, 0);
    EXPECT_EQ(wrongly_refused, 0);
    EXPECT_EQ(refused, 106762); // found by a search over all k up to 8 in exact arithmetic
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
