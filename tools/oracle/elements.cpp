#include "elements.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "exact.hpp"

namespace dynquant::test {
namespace {

/// The codes after the largest finite number: infinity and then NaN; NaN alone; or nothing, where NaN has the code of
/// -0 or does not exist.
enum class beyond { infinity, nan, nan_is_minus_0, nothing };

/// A binary floating-point format, as its specification gives it.
struct format {
    int exponent_bits, fraction_bits, bias;
    std::uint32_t highest; // the bits of the largest finite number
    beyond then;
};

format format_of(data_type type) {
    switch (type) {
        case data_type::f16: return {5, 10, 15, 0x7bff, beyond::infinity};
        case data_type::bf16: return {8, 7, 127, 0x7f7f, beyond::infinity};
        case data_type::f8_e4m3: return {4, 3, 7, 0x7e, beyond::nan};
        case data_type::f8_e4m3fnuz: return {4, 3, 8, 0x7f, beyond::nan_is_minus_0};
        case data_type::f8_e5m2fnuz: return {5, 2, 16, 0x7f, beyond::nan_is_minus_0};
        case data_type::f6_e2m3: return {2, 3, 1, 0x1f, beyond::nothing};
        case data_type::f6_e3m2: return {3, 2, 3, 0x1f, beyond::nothing};
        case data_type::f4_e2m1: return {2, 1, 1, 0x7, beyond::nothing};
        default: return {5, 2, 15, 0x7b, beyond::infinity}; // f8_e5m2
    }
}

/// 2^exponent as a float, subnormal or not.
float power_of_two(int exponent) {
    return std::bit_cast<float>(
            exponent >= -126 ? static_cast<std::uint32_t>(exponent + 127) << 23 : 1U << (exponent + 149));
}

/// The value of a finite number's bits, which have no sign.
exact::real magnitude_from(const format &f, std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> f.fraction_bits), least = exponent == 0 ? 1 : exponent;
    const auto fraction = bits & ((1U << f.fraction_bits) - 1);
    const auto significand = fraction + (exponent == 0 ? 0 : 1U << f.fraction_bits);
    return {false, significand, least - f.bias - f.fraction_bits};
}

/// Halfway from a number to the next.
exact::real middle(const format &f, std::uint32_t bits) {
    format finer = f;
    ++finer.fraction_bits;
    return magnitude_from(finer, 2 * bits + 1);
}

/// The bits of the nearest number, without sign. A value above the highest number may give the code after it.
std::uint32_t nearest_magnitude(const format &f, const exact::real &value) {
    std::uint32_t low = 0, high = f.highest; // the last number that is not above
    while (low < high) {
        const auto tried = (low + high + 1) / 2;
        if (exact::above(magnitude_from(f, tried), value))
            high = tried - 1;
        else
            low = tried;
    }
    const auto halfway = middle(f, low);
    const bool up = exact::above(value, halfway) || (exact::equal(value, halfway) && low % 2 == 1);
    return up ? low + 1 : low;
}

} // namespace

int bits_in(data_type type) {
    switch (type) {
        case data_type::f32:
        case data_type::s32:
        case data_type::u32: return 32;
        case data_type::f16:
        case data_type::bf16:
        case data_type::s16:
        case data_type::u16: return 16;
        case data_type::f6_e2m3:
        case data_type::f6_e3m2: return 6;
        case data_type::s4:
        case data_type::u4:
        case data_type::f4_e2m1: return 4;
        case data_type::s2:
        case data_type::u2: return 2;
        default: return 8;
    }
}

bool is_integer(data_type type) {
    constexpr data_type integers[] = {data_type::s32, data_type::u32, data_type::s16, data_type::u16, data_type::s8,
            data_type::u8, data_type::s4, data_type::u4, data_type::s2, data_type::u2};
    return std::ranges::find(integers, type) != std::end(integers);
}

std::size_t bytes_for(data_type type, std::int64_t elements) {
    return static_cast<std::size_t>((elements * bits_in(type) + 7) / 8);
}

integer_range range_of(data_type type) {
    switch (type) {
        case data_type::s32: return {INT32_MIN, INT32_MAX};
        case data_type::u32: return {0, UINT32_MAX};
        case data_type::s16: return {-32768, 32767};
        case data_type::u16: return {0, 65535};
        case data_type::s8: return {-128, 127};
        case data_type::s4: return {-8, 7};
        case data_type::u4: return {0, 15};
        case data_type::s2: return {-2, 1};
        case data_type::u2: return {0, 3};
        default: return {0, 255}; // u8
    }
}

std::uint32_t get_bits(data_type type, const std::byte *buffer, std::int64_t index) {
    const auto size = bits_in(type);
    std::uint32_t bits = 0;
    for (std::int64_t i = 0; size < 8 && i < size; ++i) { // bit by bit, the lowest first
        const auto at = index * size + i;
        bits |= (static_cast<std::uint32_t>(buffer[at / 8]) >> at % 8 & 1) << i;
    }
    if (size < 8) return bits;
    std::memcpy(&bits, buffer + index * (size / 8), static_cast<std::size_t>(size / 8));
    return bits;
}

void set_bits(data_type type, std::byte *buffer, std::int64_t index, std::uint32_t bits) {
    const auto size = bits_in(type);
    for (std::int64_t i = 0; size < 8 && i < size; ++i) {
        const auto at = index * size + i;
        const auto mask = std::byte {1} << at % 8;
        buffer[at / 8] = (bits >> i & 1) != 0 ? buffer[at / 8] | mask : buffer[at / 8] & ~mask;
    }
    if (size < 8) return;
    std::memcpy(buffer + index * (size / 8), &bits, static_cast<std::size_t>(size / 8));
}

std::int64_t integer_from(data_type type, std::uint32_t bits) {
    const std::int64_t value = bits;
    return value > range_of(type).highest ? value - (std::int64_t {1} << bits_in(type)) : value;
}

float real_from(data_type type, std::uint32_t bits) {
    if (type == data_type::f32) return std::bit_cast<float>(bits);
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    if (type == data_type::f8_e8m0) return bits == 0xff ? nan : power_of_two(static_cast<int>(bits) - 127);
    const auto f = format_of(type);
    const auto sign_bit = 1U << (f.exponent_bits + f.fraction_bits), magnitude = bits & (sign_bit - 1);
    if (f.then == beyond::nan_is_minus_0 && bits == sign_bit) return nan;
    float value = nan;
    if (magnitude <= f.highest)
        value = exact::to_float(magnitude_from(f, magnitude));
    else if (f.then == beyond::infinity && magnitude == f.highest + 1)
        value = std::numeric_limits<float>::infinity();
    return (bits & sign_bit) != 0 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | 0x80000000U) : value;
}

std::uint32_t bits_of_number(data_type type, const exact::number &value, bool saturate) {
    const auto f = format_of(type);
    const bool nan = value.is == exact::number::kind::nan;
    const auto sign_bit = 1U << (f.exponent_bits + f.fraction_bits), sign = value.value.negative ? sign_bit : 0;
    if (nan && f.then == beyond::nothing) return f.highest;
    if (nan && f.then == beyond::nan_is_minus_0) return sign_bit;
    if (nan) return f.highest + (f.then == beyond::infinity ? 2 : 1);
    const auto magnitude = value.finite() ? nearest_magnitude(f, value.value) : f.highest + 1;
    if (magnitude > f.highest) {
        if (saturate || f.then == beyond::nothing) return sign | f.highest;
        return f.then == beyond::nan_is_minus_0 ? sign_bit : sign | (f.highest + 1); // infinity or NaN
    }
    return f.then == beyond::nan_is_minus_0 && magnitude == 0 ? 0 : sign | magnitude;
}

std::uint32_t bits_of_real(data_type type, float value, bool saturate) {
    if (type == data_type::f32) return std::bit_cast<std::uint32_t>(value);
    if (type == data_type::f8_e8m0) return std::bit_cast<std::uint32_t>(value) >> 23 & 0xff; // of powers of two
    return bits_of_number(type, exact::number_of(value), saturate);
}

float nearest_float16(float value) {
    return real_from(data_type::f16, bits_of_real(data_type::f16, value));
}

std::vector<std::byte> encode(data_type type, const std::vector<std::int64_t> &values) {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::byte> bytes(bytes_for(type, count));
    for (std::int64_t i = 0; i < count; ++i) {
        const auto value = values[static_cast<std::size_t>(i)];
        set_bits(type, bytes.data(), i,
                is_integer(type) ? static_cast<std::uint32_t>(value) : bits_of_real(type, static_cast<float>(value)));
    }
    return bytes;
}

std::vector<std::byte> encode_reals(data_type type, const std::vector<float> &values) {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::byte> bytes(bytes_for(type, count));
    for (std::int64_t i = 0; i < count; ++i)
        set_bits(type, bytes.data(), i, bits_of_real(type, values[static_cast<std::size_t>(i)]));
    return bytes;
}

std::vector<float> decode_reals(data_type type, const std::vector<std::byte> &bytes) {
    std::vector<float> values;
    const auto count = static_cast<std::int64_t>(bytes.size()) * 8 / bits_in(type);
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(real_from(type, get_bits(type, bytes.data(), i)));
    return values;
}

} // namespace dynquant::test
