#include "exact.hpp"

#include <algorithm>
#include <bit>

namespace dynquant::test::exact {

int width(wide value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return static_cast<int>(high ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value)));
}

real of_integer(std::int64_t value) {
    const auto magnitude = static_cast<std::uint64_t>(value);
    return {value < 0, value < 0 ? 0 - magnitude : magnitude, 0};
}

real of_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value), fraction = bits & 0x7fffff;
    const bool negative = bits >> 31 != 0;
    const auto exponent = static_cast<int>(bits >> 23 & 0xff);
    if (exponent == 0) return {negative, fraction, -149};
    return {negative, fraction | 0x800000, exponent - 150};
}

number number_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return {number::kind::nan};
    if (magnitude == 0x7f800000) return {number::kind::infinite, {bits >> 31 != 0, 0, 0}};
    return {number::kind::finite, of_float(value)};
}

wide shift_to_nearest_even(const real &r, int drop) {
    if (drop > width(r.magnitude)) return 0;
    const wide half = wide {1} << (drop - 1), rest = r.magnitude & (2 * half - 1);
    const wide kept = drop == 128 ? 0 : r.magnitude >> drop;
    const bool up = rest > half || (rest == half && (r.more || kept % 2 == 1));
    return kept + up;
}

real rounded(real r, int significand_bits, int least_exponent) {
    if (r.magnitude == 0) return {r.negative, 0, least_exponent};
    const int drop = std::max(width(r.magnitude) - significand_bits, least_exponent - r.exponent);
    const auto magnitude = drop > 0 ? shift_to_nearest_even(r, drop) : r.magnitude << -drop;
    return {r.negative, magnitude, r.exponent + drop};
}

number rounded(const number &n, const binary_format &to) {
    if (!n.finite()) return n;
    const auto r = rounded(n.value, to.significand_bits, to.least_exponent);
    if (r.magnitude != 0 && width(r.magnitude) + r.exponent - 1 > to.largest_exponent)
        return {number::kind::infinite, {r.negative, 0, 0}};
    return {number::kind::finite, r};
}

float to_float(const real &given) {
    const auto r = rounded(given, 24, -149);
    const auto sign = given.negative ? 0x80000000U : 0;
    if (r.magnitude == 0) return std::bit_cast<float>(sign);
    const bool carried = r.magnitude == 0x1000000;
    const auto bits = static_cast<std::uint32_t>(carried ? r.magnitude >> 1 : r.magnitude);
    const int exponent = r.exponent + carried;
    if (bits < 0x800000) return std::bit_cast<float>(sign | bits); // subnormal: exponent is -149
    if (exponent + 150 >= 255) return std::bit_cast<float>(sign | 0x7f800000U);
    return std::bit_cast<float>(sign | static_cast<std::uint32_t>(exponent + 150) << 23 | (bits & 0x7fffff));
}

real sum(real a, real b) {
    if (a.magnitude == 0 && b.magnitude == 0) return {a.negative && b.negative, 0, 0};
    if (a.magnitude == 0) return b;
    if (b.magnitude == 0) return a;
    const auto top = [](const real &r) { return r.exponent + width(r.magnitude); };
    if (top(a) < top(b)) std::swap(a, b);
    const int up = 120 - width(a.magnitude);
    a.magnitude <<= up;
    a.exponent -= up;
    const int shift = b.exponent - a.exponent;
    const bool lost = shift < 0 && (-shift >= 128 || b.magnitude >> -shift << -shift != b.magnitude);
    if (shift >= 0)
        b.magnitude <<= shift;
    else
        b.magnitude = -shift >= 128 ? 0 : b.magnitude >> -shift;
    if (a.negative == b.negative) return {a.negative, a.magnitude + b.magnitude, a.exponent, lost};
    // a - (b + epsilon) = (a - b - 1) + (1 - epsilon)
    const bool flipped = b.magnitude > a.magnitude;
    const wide difference = flipped ? b.magnitude - a.magnitude : a.magnitude - b.magnitude - lost;
    return {a.negative != flipped && difference != 0, difference, a.exponent, lost};
}

number sum(const number &a, const number &b) {
    using kind = number::kind;
    if (a.is == kind::nan || b.is == kind::nan) return {kind::nan};
    if (a.finite() && b.finite()) return {kind::finite, sum(a.value, b.value)};
    if (!a.finite() && !b.finite() && a.value.negative != b.value.negative) return {kind::nan};
    return a.finite() ? b : a;
}

number quotient(const number &a, const number &b) {
    using kind = number::kind;
    const bool negative = a.value.negative != b.value.negative;
    if (a.is == kind::nan || b.is == kind::nan) return {kind::nan};
    if ((a.zero() && b.zero()) || (!a.finite() && !b.finite())) return {kind::nan};
    if (!a.finite() || b.zero()) return {kind::infinite, {negative, 0, 0}};
    if (!b.finite() || a.zero()) return {kind::finite, {negative, 0, 0}};
    const int up = 126 - width(a.value.magnitude);
    const wide dividend = a.value.magnitude << up, divisor = b.value.magnitude;
    return {kind::finite,
            {negative, dividend / divisor, a.value.exponent - up - b.value.exponent, dividend % divisor != 0}};
}

bool above(real a, real b) {
    a.negative = false;
    b.negative = true;
    const auto difference = sum(a, b);
    return difference.magnitude != 0 && !difference.negative;
}

bool equal(real a, real b) {
    a.negative = false;
    b.negative = true;
    return sum(a, b).magnitude == 0;
}

std::int64_t to_integer(const number &n) {
    constexpr int most = 40;
    const auto &r = n.value;
    auto magnitude = std::int64_t {1} << most;
    if (n.finite() && width(r.magnitude) + r.exponent <= most)
        magnitude = static_cast<std::int64_t>(
                r.exponent >= 0 ? r.magnitude << r.exponent : shift_to_nearest_even(r, -r.exponent));
    return r.negative ? -magnitude : magnitude;
}

} // namespace dynquant::test::exact
