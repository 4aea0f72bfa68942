// The data-type table: all that checks and kernels know of a type. A new type is a row here, an element in
// elements.hpp, and a load or store in the kernels.
#pragma once

#include <cstdint>
#include <limits>

#include "dynquant/quantization.hpp"

namespace dynquant {

struct data_type_traits {
    data_type type;
    const char *name;
    int bits;
    bool real;              // what is quantized, and scales
    bool quantized;         // what it is quantized to
    bool integral;          // zero points
    double lowest, highest; // finite values; what saturation gives
};

inline constexpr data_type_traits data_types[] = {
        {data_type::f32, "f32", 32, true, false, false, std::numeric_limits<float>::lowest(),
                std::numeric_limits<float>::max()},
        {data_type::s32, "s32", 32, false, false, true, -2147483648.0, 2147483647.0},
        {data_type::s8, "s8", 8, false, true, true, -128, 127},
        {data_type::u8, "u8", 8, false, true, true, 0, 255},
        {data_type::f16, "f16", 16, true, false, false, -65504, 65504},
        {data_type::bf16, "bf16", 16, true, false, false, -0x1.fep127, 0x1.fep127},
        {data_type::s4, "s4", 4, false, true, true, -8, 7},
        {data_type::u4, "u4", 4, false, true, true, 0, 15},
        {data_type::f8_e4m3, "f8_e4m3", 8, false, true, false, -448, 448},
        {data_type::f8_e5m2, "f8_e5m2", 8, false, true, false, -57344, 57344},
};

constexpr const data_type_traits &traits(data_type type) {
    return data_types[static_cast<int>(type)];
}

/// So many elements of a type, the last byte of 4-bit ones perhaps half full. Without overflow where the bytes of
/// as many 8-bit elements can be counted.
constexpr std::int64_t size_in_bytes(data_type type, std::int64_t elements) {
    const auto bits = traits(type).bits;
    return bits < 8 ? elements / 2 + elements % 2 : elements * (bits / 8);
}

} // namespace dynquant
