// Enumerates the 24-bit dividends X whose quotient by the 24-bit divisor S lies next to a midpoint between two floats.
// Division by approximations can be wrong for no others; see division.cpp.
#pragma once

#include <bit>
#include <cstdint>

#include <oneapi/tbb/parallel_for.h>

namespace dynquant::test {

inline constexpr std::uint32_t two_23 = 1u << 23, two_24 = 1u << 24, two_25 = 1u << 25;

/// 1 / odd modulo 2^32: each step of Newton's iteration doubles the number of right bits.
inline std::uint32_t inverse(std::uint32_t odd) {
    std::uint32_t result = odd; // right to 3 bits
    for (int i = 0; i < 4; ++i)
        result *= 2 - odd * result;
    return result;
}

/// Calls f(X, S, mantissa of the quotient, k) for all X whose quotient by S is within c / (2^k S) of a
/// midpoint, where |c| <= 8; the quotient, rounded, is mantissa / 2^k.
template <typename F>
void for_each_hard_dividend(std::uint32_t s, F &&f) {
    const int j = std::countr_zero(s);
    if (j > 3) return; // 2^j must divide c, and |c| <= 8
    const std::uint32_t inverse_of_odd_part = inverse(s >> j);
    for (const int k : {24, 25}) {
        const std::uint32_t modulus = 1u << (k - j);
        for (int c = -8; c <= 8; ++c) {
            if (c == 0 || std::countr_zero(static_cast<std::uint32_t>(c)) != j) continue;
            const auto odd = static_cast<std::uint32_t>(-c / (1 << j));
            std::uint32_t m = odd * inverse_of_odd_part % modulus;
            for (m += (two_24 - m + modulus - 1) / modulus * modulus; m < two_25; m += modulus) {
                const auto x = static_cast<std::uint32_t>((std::int64_t {m} * s + c) >> k);
                if (x < two_23 || x >= two_24 || (x >= s) != (k == 24)) continue;
                f(x, s, c > 0 ? m + 1 : m - 1, k);
            }
        }
    }
}

/// Calls f(S) for all 24-bit divisors S, on several threads.
template <typename F>
void for_each_divisor(const F &f) {
    tbb::parallel_for(two_23, two_24, f);
}

} // namespace dynquant::test
