// When two multipliers of a sum that becomes an integer are one.
#pragma once

#include <cmath>

namespace dynquant {

// Let a be a sum rounded to f32, so that |a| <= 2^31, s a scale with |s| <= 2^96, and 2^-n a second scale, n >= 0. Then
// RNE(f32(f32(a s) 2^-n)) is RNE(f32(a f32(s 2^-n))): nothing overflows, as |a s| <= 2^127, and
// - if |a s 2^-n| >= 1/4, no number is subnormal: |a s| is at least as large, and |s 2^-n| >= 2^-33. Multiplying by
//   2^-n then changes exponents only, so both sides round a s to the same 24 bits;
// - if it is less, both sides give 0. On the left, |f32(a s)| <= 2^(n - 2), as rounding is monotonic, and times 2^-n
//   that is at most 1/4. On the right, s 2^-n is either exact, and |f32(a s 2^-n)| <= 1/4, or subnormal, and then at
//   most 2^-126, so times a at most 2^-95.
// Integer scales of at most 2^24, as fixed-point multipliers are, satisfy this.
// A clamp by integers or by zero, in between or behind, changes none of this.

/// Such an s.
inline bool is_multiplier(float scale) {
    return std::abs(scale) <= 0x1p96F; // not NaN
}

/// Such a 2^-n.
inline bool is_shift(float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F && exponent <= 1; // scale = 0.5 * 2^exponent
}

} // namespace dynquant
