// The data-type table: all that checks and kernels know of a type. A new type is a row here and a load
// or store in the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "dynquant/quantization.hpp"

namespace dynquant {

struct data_type_traits {
    data_type type;
    const char *name;
    std::size_t size; // bytes
    bool integral;
    double lowest, highest; // finite values; what saturation gives
};

inline constexpr data_type_traits data_types[] = {
        {data_type::f32, "f32", 4, false, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()},
        {data_type::s32, "s32", 4, true, -2147483648.0, 2147483647.0},
        {data_type::s8, "s8", 1, true, -128, 127},
        {data_type::u8, "u8", 1, true, 0, 255},
};

constexpr const data_type_traits &traits(data_type type) {
    return data_types[static_cast<int>(type)];
}

/// Calls f with a value of the C++ type behind `type`.
template <typename F>
decltype(auto) with_type(data_type type, F &&f) {
    switch (type) {
        case data_type::f32: return f(float {});
        case data_type::s32: return f(std::int32_t {});
        case data_type::s8: return f(std::int8_t {});
        case data_type::u8: break;
    }
    return f(std::uint8_t {});
}

} // namespace dynquant
