#include "oracle.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <sstream>

#include "elements.hpp"

namespace dynquant::test::oracle {
namespace {

// No standard type is this wide; g++ and clang both have it.
__extension__ using wide = unsigned __int128;

/// (-1)^negative * (magnitude + epsilon) * 2^exponent, where 0 < epsilon < 1 if `more` and else 0.
struct real {
    bool negative;
    wide magnitude;
    int exponent;
    bool more = false;
};

constexpr std::uint32_t sign_bit = 0x80000000u, infinity_bits = 0x7f800000u;

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}
bool is_negative(float value) {
    return (bits_of(value) & sign_bit) != 0;
}
bool is_nan(float value) {
    return (bits_of(value) & ~sign_bit) > infinity_bits;
}
bool is_infinite(float value) {
    return (bits_of(value) & ~sign_bit) == infinity_bits;
}
bool is_zero(float value) {
    return (bits_of(value) & ~sign_bit) == 0;
}

float assemble(bool negative, std::uint32_t bits) {
    return std::bit_cast<float>((negative ? sign_bit : 0) | bits);
}
float infinity(bool negative) {
    return assemble(negative, infinity_bits);
}
float zero(bool negative) {
    return assemble(negative, 0);
}
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// A finite float, exactly.
real exactly(float value) {
    const auto fraction = bits_of(value) & 0x7fffff;
    const auto exponent = static_cast<int>(bits_of(value) >> 23 & 0xff);
    if (exponent == 0) return {is_negative(value), fraction, -149};
    return {is_negative(value), fraction | 0x800000, exponent - 150};
}

real exactly(std::int64_t value) {
    const auto magnitude = static_cast<std::uint64_t>(value);
    return {value < 0, value < 0 ? 0 - magnitude : magnitude, 0};
}

int width(wide value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return static_cast<int>(high ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value)));
}

/// Drops the last `drop` bits, rounding to nearest, ties to even.
wide shift_to_nearest_even(const real &r, int drop) {
    if (drop > width(r.magnitude)) return 0;
    const wide half = wide {1} << (drop - 1), rest = r.magnitude & (2 * half - 1);
    const wide kept = drop == 128 ? 0 : r.magnitude >> drop;
    const bool up = rest > half || (rest == half && (r.more || kept % 2 == 1));
    return kept + up;
}

/// The nearest float. A magnitude with `more` must have over 24 bits.
float round_to_float(real r) {
    if (r.magnitude == 0) return zero(r.negative);
    const int drop = std::max(width(r.magnitude) - 24, -149 - r.exponent);
    r.magnitude = drop > 0 ? shift_to_nearest_even(r, drop) : r.magnitude << -drop;
    r.exponent += drop;
    if (r.magnitude == 0x1000000) {
        r.magnitude >>= 1;
        ++r.exponent;
    }
    const auto bits = static_cast<std::uint32_t>(r.magnitude);
    if (bits < 0x800000) return assemble(r.negative, bits); // subnormal: exponent is -149
    if (r.exponent + 150 >= 255) return infinity(r.negative);
    return assemble(r.negative, static_cast<std::uint32_t>(r.exponent + 150) << 23 | (bits & 0x7fffff));
}

/// a + b. What does not fit in 128 bits is far below the last bit of a float, and becomes `more`.
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

/// clamp(RNE(value))
int to_integer(float value, int lowest, int highest) {
    if (is_nan(value)) return lowest;
    if (is_infinite(value)) return is_negative(value) ? lowest : highest;
    const real r = exactly(value);
    if (r.exponent > 8) return r.negative ? lowest : highest; // at least 2^23 * 2^9
    const wide magnitude = r.exponent >= 0 ? r.magnitude << r.exponent : shift_to_nearest_even(r, -r.exponent);
    const auto integer = static_cast<std::int64_t>(magnitude);
    return static_cast<int>(std::clamp<std::int64_t>(r.negative ? -integer : integer, lowest, highest));
}

bool within(float value, int least, int most) {
    const auto magnitude = bits_of(value) & ~sign_bit;
    const auto power_of_two = [](int exponent) { return static_cast<std::uint32_t>(exponent + 127) << 23; };
    return magnitude >= power_of_two(least) && magnitude <= power_of_two(most);
}

} // namespace

float from_integer(std::int64_t value) {
    return round_to_float(exactly(value));
}

float divide(float a, float b) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b) || (is_zero(a) && is_zero(b)) || (is_infinite(a) && is_infinite(b))) return nan;
    if (is_infinite(a) || is_zero(b)) return infinity(negative);
    if (is_infinite(b) || is_zero(a)) return zero(negative);
    // Both mantissas are below 2^24; the divisor's is brought to exactly 24 bits and the dividend's to
    // 64, so that the quotient has 40 bits or more.
    real x = exactly(a), s = exactly(b);
    const int up_x = 64 - width(x.magnitude), up_s = 24 - width(s.magnitude);
    const auto dividend = static_cast<std::uint64_t>(x.magnitude << up_x);
    const auto divisor = static_cast<std::uint64_t>(s.magnitude << up_s);
    return round_to_float(
            {negative, dividend / divisor, x.exponent - up_x - (s.exponent - up_s), dividend % divisor != 0});
}

float multiply(float a, float b) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b)) return nan;
    if (is_infinite(a) || is_infinite(b)) return is_zero(a) || is_zero(b) ? nan : infinity(negative);
    const real x = exactly(a), y = exactly(b);
    return round_to_float({negative, x.magnitude * y.magnitude, x.exponent + y.exponent});
}

float add(float a, float b) {
    if (is_nan(a) || is_nan(b)) return nan;
    if (is_infinite(a)) return is_infinite(b) && is_negative(a) != is_negative(b) ? nan : a;
    if (is_infinite(b)) return b;
    return round_to_float(sum(exactly(a), exactly(b)));
}

int quantize(float x, float s, std::int32_t zp, int lowest, int highest) {
    return to_integer(add(divide(x, s), from_integer(zp)), lowest, highest);
}

float dequantize(int q, float s, std::int32_t zp) {
    return multiply(from_integer(std::int64_t {q} - zp), s);
}

bool allows_any(int given, float x, float s, std::int32_t zp, int lowest, int highest) {
    const int strict = quantize(x, s, zp, lowest, highest);
    if (given == strict) return true;
    const bool guarded = within(s, -75, 75) && zp > -(1 << 20) && zp < 1 << 20;
    if (!guarded || is_nan(x) || is_infinite(x) || std::abs(given - strict) > 1) return false;
    const float reciprocal = divide(1.0f, s);
    const int separate = to_integer(add(multiply(x, reciprocal), from_integer(zp)), lowest, highest);
    const real a = exactly(x), b = exactly(reciprocal);
    const real product {a.negative != b.negative, a.magnitude * b.magnitude, a.exponent + b.exponent};
    const int contracted = to_integer(round_to_float(sum(product, exactly(std::int64_t {zp}))), lowest, highest);
    return given == separate || given == contracted;
}

namespace {

float real_at(data_type type, const std::vector<std::byte> &bytes, std::int64_t index) {
    return real_from(type, get_bits(type, bytes.data(), index));
}

dims strides_of(const tensor &t) {
    if (!t.strides.empty()) return t.strides;
    dims strides(t.dims.size(), 1);
    for (std::size_t d = t.dims.size(); d-- > 1;)
        strides[d - 1] = strides[d] * t.dims[d];
    return strides;
}

/// The multi-index moves as an odometer does.
template <typename F>
void for_each_element(const quantization &q, F &&f) {
    const auto &extents = q.src.dims;
    for (const auto extent : extents)
        if (extent == 0) return;
    const auto src = strides_of(q.src), dst = strides_of(q.dst);
    dims index(extents.size(), 0);
    for (;;) {
        std::int64_t src_offset = 0, dst_offset = 0, parameter = 0;
        for (std::size_t d = 0; d < extents.size(); ++d) {
            src_offset += index[d] * src[d];
            dst_offset += index[d] * dst[d];
            const auto block = q.scales.block[d];
            parameter = parameter * ((extents[d] + block - 1) / block) + index[d] / block;
        }
        f(src_offset, dst_offset, parameter);
        std::size_t d = extents.size();
        while (d > 0 && ++index[d - 1] == extents[d - 1])
            index[--d] = 0;
        if (d == 0) return;
    }
}

float scale_at(const quantization &q, const inputs &in, std::int64_t i) {
    if (q.scales.values.empty()) return real_at(q.scales.type, in.scales, i);
    const auto value = static_cast<float>(q.scales.values[static_cast<std::size_t>(i)]);
    return real_from(q.scales.type, bits_of_real(q.scales.type, value));
}

std::int32_t zero_point_at(const quantization &q, const inputs &in, std::int64_t i) {
    if (!q.zero_points) return 0;
    const auto &values = q.zero_points->values;
    if (!values.empty()) return static_cast<std::int32_t>(values[static_cast<std::size_t>(i)]);
    return integer_from(q.zero_points->type, get_bits(q.zero_points->type, in.zero_points.data(), i));
}

/// The bits of one element of dst.
std::uint32_t result_of(const quantization &q, const inputs &in, std::int64_t src, std::int64_t p) {
    const float scale = scale_at(q, in, p);
    const auto zp = zero_point_at(q, in, p);
    if (q.dir == direction::dequantize) {
        const bool integer = is_integer(q.src.type);
        const auto bits = get_bits(q.src.type, in.src.data(), src);
        return bits_of_real(q.dst.type,
                integer ? dequantize(integer_from(q.src.type, bits), scale, zp)
                        : multiply(real_from(q.src.type, bits), scale));
    }
    const float x = real_at(q.src.type, in.src, src);
    if (!is_integer(q.dst.type)) return bits_of_real(q.dst.type, divide(x, scale));
    const auto [lowest, highest] = range_of(q.dst.type);
    return static_cast<std::uint32_t>(quantize(x, scale, zp, lowest, highest));
}

/// Whether one element of dst, not equal to what is expected, is right all the same.
bool allowed(const quantization &q, const inputs &in, std::uint32_t expected, std::uint32_t given, std::int64_t src,
        std::int64_t p) {
    if (!is_integer(q.dst.type)) return is_nan(real_from(q.dst.type, expected)) && is_nan(real_from(q.dst.type, given));
    const auto [lowest, highest] = range_of(q.dst.type);
    return q.rule == numerics::any
            && allows_any(integer_from(q.dst.type, given), real_at(q.src.type, in.src, src), scale_at(q, in, p),
                    zero_point_at(q, in, p), lowest, highest);
}

std::string text_of(data_type type, std::uint32_t bits) {
    std::ostringstream text;
    if (is_integer(type))
        text << integer_from(type, bits);
    else
        text << std::hexfloat << real_from(type, bits);
    return text.str();
}

std::string text_of(const quantization &q, const inputs &in, std::int64_t src, std::int64_t p) {
    std::ostringstream text;
    text << "src " << text_of(q.src.type, get_bits(q.src.type, in.src.data(), src)) << ", scale " << std::hexfloat
         << scale_at(q, in, p) << ", zp " << zero_point_at(q, in, p);
    return text.str();
}

} // namespace

std::vector<std::byte> run(const quantization &q, const inputs &in, std::vector<std::byte> before) {
    for_each_element(q, [&](std::int64_t src, std::int64_t dst, std::int64_t p) {
        set_bits(q.dst.type, before.data(), dst, result_of(q, in, src, p));
    });
    return before;
}

std::string disagreement(const quantization &q, const inputs &in, const std::vector<std::byte> &expected,
        const std::vector<std::byte> &given) {
    if (given.size() != expected.size()) return "the buffers differ in size";
    if (given == expected) return {};
    const auto type = q.dst.type;
    auto corrected = given;
    std::int64_t wrong = 0;
    std::string first;
    for_each_element(q, [&](std::int64_t src, std::int64_t dst, std::int64_t p) {
        const auto now = get_bits(type, given.data(), dst), right = get_bits(type, expected.data(), dst);
        if (now == right) return;
        set_bits(type, corrected.data(), dst, right);
        if (allowed(q, in, right, now, src, p) || wrong++ > 0) return;
        first = "dst at offset " + std::to_string(dst) + " is " + text_of(type, now) + ", expected "
                + text_of(type, right) + " for " + text_of(q, in, src, p);
    });
    if (wrong > 0) return std::to_string(wrong) + " elements differ; the first: " + first;
    return corrected == expected ? "" : "bytes between the elements of dst were written";
}

} // namespace dynquant::test::oracle
