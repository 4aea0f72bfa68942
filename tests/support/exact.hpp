// Numbers in integer arithmetic, for the oracle: no floating-point instruction is used.
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

/// A value, of which `value` is looked at when it is finite, and else its sign.
struct number {
    enum class kind { finite, infinite, nan } is = kind::finite;
    real value = {};

    bool finite() const { return is == kind::finite; }
    bool zero() const { return finite() && value.magnitude == 0; }
};

/// The significand's bits, the weight of the least bit of all, and the largest exponent: 24, -149, 127 for f32.
struct binary_format {
    int significand_bits, least_exponent, largest_exponent;
};

int width(wide value);

real of_integer(std::int64_t value);
/// A finite float.
real of_float(float value);
number number_of(float value);

/// Drops the last `drop` bits, rounding to nearest, ties to even.
wide shift_to_nearest_even(const real &r, int drop);

/// To nearest, ties to even, as if the exponent had no upper end; a magnitude with `more` must have more bits.
real rounded(real r, int significand_bits, int least_exponent);
/// The same, and beyond the largest number infinity.
number rounded(const number &n, const binary_format &to);

/// The nearest float. A magnitude with `more` must have over 24 bits.
float to_float(const real &r);

/// a + b. What does not fit in 128 bits is far below the last bit of a float, and becomes `more`.
real sum(real a, real b);
number sum(const number &a, const number &b);
/// To 73 bits or more and `more`, of magnitudes below 2^53.
number quotient(const number &a, const number &b);

/// Whether |a| > |b|, and whether they are equal. Neither has `more`.
bool above(real a, real b);
bool equal(real a, real b);

/// RNE(n), and beyond +-2^40 that. Not for NaN.
std::int64_t to_integer(const number &n);

} // namespace dynquant::test::exact
