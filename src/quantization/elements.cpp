#include "quantization/elements.hpp"

#include <cstring>

#include "quantization/small_float.hpp"

namespace dynquant {
namespace {

// Buffers of scales and the like need not be aligned.
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

int shift_of(std::int64_t index) {
    return index % 2 == 0 ? 0 : 4;
}

unsigned read_nibble(const void *buffer, std::int64_t index) {
    return static_cast<unsigned>(static_cast<const unsigned char *>(buffer)[index / 2]) >> shift_of(index) & 0xf;
}

void write_nibble(void *buffer, std::int64_t index, double value) {
    auto &byte = static_cast<unsigned char *>(buffer)[index / 2];
    const auto bits = static_cast<unsigned>(static_cast<int>(value)) & 0xf;
    byte = static_cast<unsigned char>((byte & ~(0xfU << shift_of(index))) | bits << shift_of(index));
}

} // namespace

double load(data_type type, const void *buffer, std::int64_t index) {
    switch (type) {
        case data_type::f32: return read<float>(buffer, index);
        case data_type::s32: return read<std::int32_t>(buffer, index);
        case data_type::s8: return read<std::int8_t>(buffer, index);
        case data_type::u8: return read<std::uint8_t>(buffer, index);
        case data_type::f16: return read<float16>(buffer, index).value();
        case data_type::bf16: return read<bfloat16>(buffer, index).value();
        case data_type::s4: return static_cast<int>(read_nibble(buffer, index) ^ 8) - 8;
        case data_type::u4: return read_nibble(buffer, index);
        case data_type::f8_e4m3: return read<float8_e4m3>(buffer, index).value();
        case data_type::f8_e5m2: break;
    }
    return read<float8_e5m2>(buffer, index).value();
}

void store(data_type type, void *buffer, std::int64_t index, double value) {
    const auto real = [=] { return static_cast<float>(value); };
    switch (type) {
        case data_type::f32: return write(buffer, index, real());
        case data_type::s32: return write(buffer, index, static_cast<std::int32_t>(value));
        case data_type::s8: return write(buffer, index, static_cast<std::int8_t>(value));
        case data_type::u8: return write(buffer, index, static_cast<std::uint8_t>(value));
        case data_type::f16: return write(buffer, index, float16::from(real()));
        case data_type::bf16: return write(buffer, index, bfloat16::from(real()));
        case data_type::s4:
        case data_type::u4: return write_nibble(buffer, index, value);
        case data_type::f8_e4m3: return write(buffer, index, float8_e4m3::from(real()));
        case data_type::f8_e5m2: return write(buffer, index, float8_e5m2::from(real()));
    }
}

} // namespace dynquant
