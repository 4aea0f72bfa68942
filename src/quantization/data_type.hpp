// The data-type table: the properties of each type for checks and kernels. A new type is a row here, a load and a store
// in elements.cpp, and codecs in the kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// Where a statement may use a type, as a set of bits. onnx_: under numerics::onnx only.
namespace place {
inline constexpr unsigned real = 1, // src of quantize, dst of dequantize, and scales
        quantized = 2,              // dst of quantize, src of dequantize
        zero_point = 4,             // zero points of integers
        onnx_real = 8,              // src of quantize
        onnx_quantized = 16,        // dst of quantize, src of dequantize
        onnx_scale = 32,            // scales
        sum = 64,                   // src and bias of requantize
        requantized = 128,          // dst of requantize
        multiplier = 256,           // scales of requantize
        computed = 512;             // dst of quantize by computed scales
} // namespace place

struct data_type_traits {
    data_type type;
    const char *name;
    int bits;
    bool integral;
    unsigned places;
    double lowest, highest; // finite values; what saturation gives
};

inline constexpr data_type_traits data_types[] = {
        {data_type::f32, "f32", 32, false, place::real | place::multiplier, std::numeric_limits<float>::lowest(),
                std::numeric_limits<float>::max()},
        {data_type::s32, "s32", 32, true,
                place::zero_point | place::onnx_real | place::onnx_quantized | place::onnx_scale | place::sum,
                -2147483648.0, 2147483647.0},
        {data_type::s8, "s8", 8, true, place::quantized | place::zero_point | place::requantized | place::computed,
                -128, 127},
        {data_type::u8, "u8", 8, true, place::quantized | place::zero_point | place::requantized | place::computed, 0,
                255},
        {data_type::f16, "f16", 16, false, place::real | place::onnx_quantized, -65504, 65504},
        {data_type::bf16, "bf16", 16, false, place::real | place::onnx_quantized, -0x1.fep127, 0x1.fep127},
        {data_type::s4, "s4", 4, true, place::quantized | place::zero_point | place::computed, -8, 7},
        {data_type::u4, "u4", 4, true, place::quantized | place::zero_point | place::computed, 0, 15},
        {data_type::f8_e4m3, "f8_e4m3", 8, false, place::quantized | place::onnx_scale | place::computed, -448, 448},
        {data_type::f8_e5m2, "f8_e5m2", 8, false, place::quantized | place::computed, -57344, 57344},
        {data_type::s16, "s16", 16, true, place::onnx_quantized, -32768, 32767},
        {data_type::u16, "u16", 16, true, place::onnx_quantized, 0, 65535},
        {data_type::u32, "u32", 32, true, place::onnx_quantized, 0, 4294967295.0},
        {data_type::s2, "s2", 2, true, place::onnx_quantized, -2, 1},
        {data_type::u2, "u2", 2, true, place::onnx_quantized, 0, 3},
        {data_type::f4_e2m1, "f4_e2m1", 4, false, place::onnx_quantized | place::computed, -6, 6},
        {data_type::f6_e2m3, "f6_e2m3", 6, false, place::onnx_quantized | place::computed, -7.5, 7.5},
        {data_type::f6_e3m2, "f6_e3m2", 6, false, place::onnx_quantized | place::computed, -28, 28},
        {data_type::f8_e4m3fnuz, "f8_e4m3fnuz", 8, false, place::onnx_quantized, -240, 240},
        {data_type::f8_e5m2fnuz, "f8_e5m2fnuz", 8, false, place::onnx_quantized, -57344, 57344},
        {data_type::f8_e8m0, "f8_e8m0", 8, false, place::onnx_scale, 0x1p-127, 0x1p127},
};
static_assert(std::ranges::all_of(
        data_types, [](const data_type_traits &row) { return &data_types[static_cast<int>(row.type)] == &row; }));

constexpr const data_type_traits &traits(data_type type) {
    return data_types[static_cast<int>(type)];
}

/// Bytes of `elements` elements, rounded up. Does not overflow for types of 8 bits and fewer.
constexpr std::int64_t size_in_bytes(data_type type, std::int64_t elements) {
    const auto bits = traits(type).bits;
    return bits < 8 ? elements / 8 * bits + (elements % 8 * bits + 7) / 8 : elements * (bits / 8);
}

} // namespace dynquant
