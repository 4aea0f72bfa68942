#include "elements.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "oracle.hpp"

namespace dynquant::test {
namespace {

/// A binary floating-point format, as its specification gives it.
struct format {
    int exponent_bits, fraction_bits, bias;
    std::uint32_t highest; // the bits of the largest finite number
    bool has_infinity;     // right after it; all beyond is NaN
};

format format_of(data_type type) {
    switch (type) {
        case data_type::f16: return {5, 10, 15, 0x7bff, true};
        case data_type::bf16: return {8, 7, 127, 0x7f7f, true};
        case data_type::f8_e4m3: return {4, 3, 7, 0x7e, false};
        default: return {5, 2, 15, 0x7b, true}; // f8_e5m2
    }
}

/// 2^exponent as a float, subnormal or not.
float power_of_two(int exponent) {
    return std::bit_cast<float>(
            exponent >= -126 ? static_cast<std::uint32_t>(exponent + 127) << 23 : 1U << (exponent + 149));
}

/// What the bits of a finite number stand for. Without sign.
float magnitude_from(const format &f, std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> f.fraction_bits), least = exponent == 0 ? 1 : exponent;
    const auto fraction = bits & ((1U << f.fraction_bits) - 1);
    const auto significand = fraction + (exponent == 0 ? 0 : 1U << f.fraction_bits);
    return oracle::multiply(oracle::from_integer(significand), power_of_two(least - f.bias - f.fraction_bits));
}

/// The float halfway from a number to the next.
float middle(const format &f, std::uint32_t bits) {
    format finer = f;
    ++finer.fraction_bits;
    return magnitude_from(finer, 2 * bits + 1);
}

} // namespace

int bits_in(data_type type) {
    switch (type) {
        case data_type::f32:
        case data_type::s32: return 32;
        case data_type::f16:
        case data_type::bf16: return 16;
        case data_type::s4:
        case data_type::u4: return 4;
        default: return 8;
    }
}

bool is_integer(data_type type) {
    return type == data_type::s32 || type == data_type::s8 || type == data_type::u8 || type == data_type::s4
            || type == data_type::u4;
}

std::size_t bytes_for(data_type type, std::int64_t elements) {
    return static_cast<std::size_t>((elements * bits_in(type) + 7) / 8);
}

integer_range range_of(data_type type) {
    switch (type) {
        case data_type::s8: return {-128, 127};
        case data_type::s4: return {-8, 7};
        case data_type::u4: return {0, 15};
        default: return {0, 255};
    }
}

std::uint32_t get_bits(data_type type, const std::byte *buffer, std::int64_t index) {
    const auto size = bits_in(type);
    if (size == 4) return static_cast<std::uint32_t>(buffer[index / 2]) >> index % 2 * 4 & 0xf;
    std::uint32_t bits = 0;
    std::memcpy(&bits, buffer + index * (size / 8), static_cast<std::size_t>(size / 8));
    return bits;
}

void set_bits(data_type type, std::byte *buffer, std::int64_t index, std::uint32_t bits) {
    const auto size = bits_in(type);
    if (size == 4) {
        auto &byte = buffer[index / 2];
        byte = index % 2 == 0 ? (byte & std::byte {0xf0}) | std::byte(bits & 0xf)
                              : (byte & std::byte {0x0f}) | std::byte((bits & 0xf) << 4);
        return;
    }
    std::memcpy(buffer + index * (size / 8), &bits, static_cast<std::size_t>(size / 8));
}

std::int32_t integer_from(data_type type, std::uint32_t bits) {
    if (type == data_type::s32) return static_cast<std::int32_t>(bits);
    const auto value = static_cast<std::int32_t>(bits);
    return value > range_of(type).highest ? value - (1 << bits_in(type)) : value;
}

float real_from(data_type type, std::uint32_t bits) {
    if (type == data_type::f32) return std::bit_cast<float>(bits);
    const auto f = format_of(type);
    const auto sign_bit = 1U << (f.exponent_bits + f.fraction_bits), magnitude = bits & (sign_bit - 1);
    float value = std::numeric_limits<float>::quiet_NaN();
    if (magnitude <= f.highest)
        value = magnitude_from(f, magnitude);
    else if (f.has_infinity && magnitude == f.highest + 1)
        value = std::numeric_limits<float>::infinity();
    return (bits & sign_bit) != 0 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | 0x80000000U) : value;
}

std::uint32_t bits_of_real(data_type type, float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    if (type == data_type::f32) return all;
    const auto f = format_of(type);
    const auto sign = (all >> 31) << (f.exponent_bits + f.fraction_bits), magnitude = all & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return sign | (f.highest + 1 + (f.has_infinity ? 1 : 0));
    // Floats without sign lie in the order of their bits. The last number that is not above:
    std::uint32_t low = 0, high = f.highest;
    while (low < high) {
        const auto tried = (low + high + 1) / 2;
        if (std::bit_cast<std::uint32_t>(magnitude_from(f, tried)) <= magnitude)
            low = tried;
        else
            high = tried - 1;
    }
    const auto halfway = std::bit_cast<std::uint32_t>(middle(f, low));
    const bool up = magnitude > halfway || (magnitude == halfway && low % 2 == 1);
    return sign | (up ? low + 1 : low); // beyond the highest: infinity, or NaN where there is none
}

std::vector<std::byte> encode(data_type type, const std::vector<std::int64_t> &values) {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::byte> bytes(bytes_for(type, count));
    for (std::int64_t i = 0; i < count; ++i) {
        const auto value = values[static_cast<std::size_t>(i)];
        set_bits(type, bytes.data(), i,
                is_integer(type) ? static_cast<std::uint32_t>(value) : bits_of_real(type, oracle::from_integer(value)));
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
