#include "kernels/native/fold.hpp"

#include <algorithm>
#include <cmath>

namespace dynquant::kernels::native {
namespace {

// Let a be a sum rounded to f32, so that |a| <= 2^31, s a scale with |s| <= 2^96, and 2^-n a second scale, n >= 0. Then
// RNE(f32(f32(a s) 2^-n)) is RNE(f32(a f32(s 2^-n))): nothing overflows, as |a s| <= 2^127, and
// - if |a s 2^-n| >= 1/4, no number is subnormal: |a s| is at least as large, and |s 2^-n| >= 2^-33. Multiplying by
//   2^-n then changes exponents only, so both sides round a s to the same 24 bits;
// - if it is less, both sides give 0. On the left, |f32(a s)| <= 2^(n - 2), as rounding is monotonic, and times 2^-n
//   that is at most 1/4. On the right, s 2^-n is either exact, and |f32(a s 2^-n)| <= 1/4, or subnormal, and then at
//   most 2^-126, so times a at most 2^-95.
// Integer scales of at most 2^24, as fixed-point multipliers are, satisfy this.

bool is_multiplier(float scale) {
    return std::abs(scale) <= 0x1p96F; // not NaN
}

bool is_shift(float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F && exponent <= 1; // scale = 0.5 * 2^exponent
}

float as_float(double value) {
    return static_cast<float>(value);
}

} // namespace

std::optional<quantization> folded(const quantization &q) {
    if (q.dir != direction::requantize || !q.second_scales || q.second_scales->values.empty()
            || q.scales.values.empty())
        return std::nullopt;
    const auto all = [](const std::vector<double> &values, auto holds) {
        return std::all_of(values.begin(), values.end(), [=](double value) { return holds(as_float(value)); });
    };
    if (!all(q.scales.values, is_multiplier) || !all(q.second_scales->values, is_shift)) return std::nullopt;
    auto result = q;
    const auto product = [](double scale, double second) { return double {as_float(scale) * as_float(second)}; };
    std::transform(q.scales.values.begin(), q.scales.values.end(), q.second_scales->values.begin(),
            result.scales.values.begin(), product);
    result.second_scales.reset();
    return result;
}

} // namespace dynquant::kernels::native
