// Divides every hard dividend by every 24-bit divisor, by three operations, by two, and by wrong ones, and counts the
// quotients that are not the nearest float. README.md says what the counts show. Prints the log that `check` compares.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "../tests/kernels/native/hard_dividends.hpp"
#include "kernels/native/formulas/two_part.hpp"

namespace {

using namespace dynquant::test;
using count = std::atomic<std::int64_t>;

float by_three_operations(float x, float s, float reciprocal) {
    const float estimate = x * reciprocal;
    return std::fma(std::fma(-estimate, s, x), reciprocal, estimate);
}

/// Calls f(dividend, divisor, their nearest quotient) with significands from 2^23 on.
template <typename F>
void for_each_hard_quotient(const F &f) {
    for_each_divisor([&](std::uint32_t divisor) {
        for_each_hard_dividend(divisor, [&](std::uint32_t x, std::uint32_t s, std::uint32_t mantissa, int k) {
            f(static_cast<float>(x), static_cast<float>(s), std::ldexp(static_cast<float>(mantissa), -k));
        });
    });
}

void print(const char *what, std::int64_t value) {
    std::printf("%-78s %9lld\n", what, static_cast<long long>(value));
}

void three_operations() {
    count tried = 0, wrong = 0, low = 0, high = 0, product = 0;
    for_each_hard_quotient([&](float x, float s, float nearest) {
        const float reciprocal = 1 / s;
        ++tried;
        wrong += by_three_operations(x, s, reciprocal) != nearest;
        low += by_three_operations(x, s, std::nextafter(reciprocal, 0.0F)) != nearest;
        high += by_three_operations(x, s, std::nextafter(reciprocal, 1.0F)) != nearest;
        product += x * reciprocal != nearest;
    });
    print("quotients tried, the nearest to midpoints of all 2^23 divisors", tried);
    print("wrong by three operations", wrong);
    print("wrong by three operations with the float below RN(1 / s)", low);
    print("wrong by three operations with the float above RN(1 / s)", high);
    print("wrong by the product with RN(1 / s)", product);
}

/// By scales of [2^exponent, 2^(exponent + 1)), with quotients of [2^of_quotient, 2^(of_quotient + 1)).
std::int64_t wrong_near(int exponent, int of_quotient) {
    count wrong = 0;
    for_each_hard_quotient([&](float x, float s, float nearest) {
        const int by = x < s ? of_quotient + 1 : of_quotient;
        const float scale = std::ldexp(s, exponent - 23), dividend = std::ldexp(x, exponent - 23 + by);
        wrong += by_three_operations(dividend, scale, 1 / scale) != std::ldexp(nearest, by);
    });
    return wrong;
}

void inexact_remainders() {
    constexpr float s = two_24 - 1;
    std::int64_t inexact = 0;
    for (std::uint32_t dividend = two_23; dividend < two_24; ++dividend) {
        const auto x = static_cast<float>(dividend), estimate = x * (1 / s);
        // f64 has the product, and the difference, which is a multiple of 2^-25 of at most 2^25 of them.
        inexact += std::fma(-estimate, s, x) != double {x} - double {estimate} * double {s};
    }
    print("of the 2^23 dividends by 2^24 - 1, remainders that are no floats", inexact);
}

void two_operations() {
    count divisors = 0, wrong = 0, of_large_x = 0, refused = 0;
    for_each_divisor([&](std::uint32_t divisor) {
        bool is_exact = true;
        for_each_hard_dividend(divisor, [&](std::uint32_t dividend, std::uint32_t, std::uint32_t mantissa, int k) {
            const auto x = static_cast<float>(dividend), s = static_cast<float>(divisor);
            const float high = 1 / s, low = dynquant::kernels::native::reciprocal_residual(s, high);
            if (std::fma(x, high, x * low) == std::ldexp(static_cast<float>(mantissa), -k)) return;
            is_exact = false;
            ++wrong;
            of_large_x += dividend >= divisor;
        });
        divisors += !is_exact;
        refused += !dynquant::kernels::native::has_exact_two_part_reciprocal(static_cast<float>(divisor));
    });
    print("wrong by two operations", wrong);
    print("wrong by two operations, with a significand of x of at least that of s", of_large_x);
    print("divisors by which two operations are wrong", divisors);
    print("divisors that has_exact_two_part_reciprocal refuses", refused);
}

} // namespace

int main() {
    three_operations();
    print("wrong by three operations, s from 2^-75, x / s from 2^-28", wrong_near(-75, -28));
    print("wrong by three operations, s from 2^74, x / s from 2^-28", wrong_near(74, -28));
    print("wrong by three operations, s from 2^-76, below the guard, x / s from 2^-28", wrong_near(-76, -28));
    print("wrong by three operations, s from 2^-75, x / s from 2^-29", wrong_near(-75, -29));
    inexact_remainders();
    two_operations();
}
