// Exact numbers for the oracle, in integer arithmetic: no floating-point instruction is used.
#pragma once

#include <cstdint>

namespace dynquant::test::exact {

// No standard type is this wide; g++ and clang both have it.
__extension__ using wide = unsigned __int128;

/// (-1)^negative * (magnitude + epsilon) * 2^exponent, where 0 < epsilon < 1 if `more` and else 0.
struct real {
    bool negative;
    wide magnitude;
    int exponent;
    bool more = false;
};

/// A floating-point number. If it is not finite, only the sign of `value` counts.
struct number {
    enum class kind { finite, infinite, nan } is = kind::finite;
    real value = {};

    bool finite() const { return is == kind::finite; }
    bool zero() const { return finite() && value.magnitude == 0; }
};

/// The bits of a significand, the exponent of the least subnormal, and the largest exponent: 24, -149, 127 for f32.
struct binary_format {
    int significand_bits, least_exponent, largest_exponent;
};

int width(wide value);

real of_integer(std::int64_t value);
/// `value` must be finite.
real of_float(float value);
number number_of(float value);

/// Drops the last `drop` bits, rounding to nearest, ties to even.
wide shift_to_nearest_even(const real &r, int drop);

/// Rounds to nearest, ties to even, without an upper limit of the exponent. A magnitude with `more` must have more than
/// `significand_bits` bits.
real rounded(real r, int significand_bits, int least_exponent);
/// Rounds to nearest, ties to even; infinity beyond the largest number.
number rounded(const number &n, const binary_format &to);

/// The nearest float. A magnitude with `more` must have over 24 bits.
float to_float(const real &r);

/// a + b. Bits that do not fit in 128 are far below the last bit of a float, and become `more`.
real sum(real a, real b);
number sum(const number &a, const number &b);
/// a / b to at least 73 bits and `more`; both magnitudes are below 2^53.
number quotient(const number &a, const number &b);

/// |a| > |b| and |a| == |b|. Neither operand has `more`.
bool above(real a, real b);
bool equal(real a, real b);

/// RNE(n), clamped to +-2^40. n is not NaN.
std::int64_t to_integer(const number &n);

} // namespace dynquant::test::exact
