#include "quantization/elements.hpp"

#include <cstring>

#include "quantization/data_type.hpp"
#include "quantization/small_float.hpp"

namespace dynquant {
namespace {

// Unaligned access: buffers of parameters need not be aligned.
template <typename T>
T read(const void *buffer, std::int64_t index) {
    T value;
    std::memcpy(&value, static_cast<const unsigned char *>(buffer) + index * std::int64_t {sizeof(T)}, sizeof(T));
    return value;
}

template <typename T>
void write(void *buffer, std::int64_t index, T value) {
    std::memcpy(static_cast<unsigned char *>(buffer) + index * std::int64_t {sizeof(T)}, &value, sizeof(T));
}

/// The position of an element of fewer than eight bits: from bit `shift` of a byte on, possibly into the next byte.
struct bit_field {
    std::int64_t byte;
    int shift, bits;

    bit_field(data_type type, std::int64_t index)
        : bits(traits(type).bits) {
        const auto offset = static_cast<int>(index % 8) * bits;
        byte = index / 8 * bits + offset / 8;
        shift = offset % 8;
    }

    unsigned mask() const { return (1U << bits) - 1; }
    bool crosses() const { return shift + bits > 8; }
};

unsigned read_bits(data_type type, const void *buffer, std::int64_t index) {
    const bit_field field(type, index);
    const auto *bytes = static_cast<const unsigned char *>(buffer) + field.byte;
    const auto both = bytes[0] | (field.crosses() ? static_cast<unsigned>(bytes[1]) << 8 : 0U);
    return both >> field.shift & field.mask();
}

void write_bits(data_type type, void *buffer, std::int64_t index, unsigned bits) {
    const bit_field field(type, index);
    auto *bytes = static_cast<unsigned char *>(buffer) + field.byte;
    const auto written = field.mask() << field.shift, placed = (bits & field.mask()) << field.shift;
    bytes[0] = static_cast<unsigned char>((bytes[0] & ~written) | placed);
    if (field.crosses()) bytes[1] = static_cast<unsigned char>((bytes[1] & ~(written >> 8)) | placed >> 8);
}

/// Two's complement of the type's width.
int read_signed(data_type type, const void *buffer, std::int64_t index) {
    const int sign = 1 << (traits(type).bits - 1);
    return (static_cast<int>(read_bits(type, buffer, index)) ^ sign) - sign;
}

template <typename Float>
float read_float(data_type type, const void *buffer, std::int64_t index) {
    return Float {static_cast<std::uint8_t>(read_bits(type, buffer, index))}.value();
}

template <typename Float>
void write_float(void *buffer, std::int64_t index, float value, bool saturate) {
    if (saturate)
        write(buffer, index, Float::template from<true>(value));
    else
        write(buffer, index, Float::from(value));
}

} // namespace

double load(data_type type, const void *buffer, std::int64_t index) {
    switch (type) {
        case data_type::f32: return read<float>(buffer, index);
        case data_type::s32: return read<std::int32_t>(buffer, index);
        case data_type::u32: return read<std::uint32_t>(buffer, index);
        case data_type::s16: return read<std::int16_t>(buffer, index);
        case data_type::u16: return read<std::uint16_t>(buffer, index);
        case data_type::s8: return read<std::int8_t>(buffer, index);
        case data_type::u8: return read<std::uint8_t>(buffer, index);
        case data_type::s4:
        case data_type::s2: return read_signed(type, buffer, index);
        case data_type::u4:
        case data_type::u2: return read_bits(type, buffer, index);
        case data_type::f16: return read<float16>(buffer, index).value();
        case data_type::bf16: return read<bfloat16>(buffer, index).value();
        case data_type::f8_e4m3: return read<float8_e4m3>(buffer, index).value();
        case data_type::f8_e5m2: return read<float8_e5m2>(buffer, index).value();
        case data_type::f8_e4m3fnuz: return read<float8_e4m3fnuz>(buffer, index).value();
        case data_type::f8_e5m2fnuz: return read<float8_e5m2fnuz>(buffer, index).value();
        case data_type::f8_e8m0: return read<float8_e8m0>(buffer, index).value();
        case data_type::f6_e2m3: return read_float<float6_e2m3>(type, buffer, index);
        case data_type::f6_e3m2: return read_float<float6_e3m2>(type, buffer, index);
        case data_type::f4_e2m1: break;
    }
    return read_float<float4_e2m1>(type, buffer, index);
}

void store(data_type type, void *buffer, std::int64_t index, double value, bool saturate) {
    const auto real = [=] { return static_cast<float>(value); };
    const auto integer = [=] { return static_cast<unsigned>(static_cast<int>(value)); };
    switch (type) {
        case data_type::f32: return write(buffer, index, real());
        case data_type::s32: return write(buffer, index, static_cast<std::int32_t>(value));
        case data_type::u32: return write(buffer, index, static_cast<std::uint32_t>(value));
        case data_type::s16: return write(buffer, index, static_cast<std::int16_t>(value));
        case data_type::u16: return write(buffer, index, static_cast<std::uint16_t>(value));
        case data_type::s8: return write(buffer, index, static_cast<std::int8_t>(value));
        case data_type::u8: return write(buffer, index, static_cast<std::uint8_t>(value));
        case data_type::s4:
        case data_type::u4:
        case data_type::s2:
        case data_type::u2: return write_bits(type, buffer, index, integer());
        case data_type::f16: return write_float<float16>(buffer, index, real(), saturate);
        case data_type::bf16: return write_float<bfloat16>(buffer, index, real(), saturate);
        case data_type::f8_e4m3: return write_float<float8_e4m3>(buffer, index, real(), saturate);
        case data_type::f8_e5m2: return write_float<float8_e5m2>(buffer, index, real(), saturate);
        case data_type::f8_e4m3fnuz: return write_float<float8_e4m3fnuz>(buffer, index, real(), saturate);
        case data_type::f8_e5m2fnuz: return write_float<float8_e5m2fnuz>(buffer, index, real(), saturate);
        case data_type::f8_e8m0: return write(buffer, index, float8_e8m0::from(real()));
        case data_type::f6_e2m3: return write_bits(type, buffer, index, float6_e2m3::from(real()).bits);
        case data_type::f6_e3m2: return write_bits(type, buffer, index, float6_e3m2::from(real()).bits);
        case data_type::f4_e2m1: return write_bits(type, buffer, index, float4_e2m1::from(real()).bits);
    }
}

} // namespace dynquant
