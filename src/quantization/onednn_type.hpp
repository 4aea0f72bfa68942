// Conversions between oneDNN's data types and dynquant's.
#pragma once

#include "dynquant/newer_names.hpp"
#include "dynquant/quantization.hpp"

namespace dynquant {

/// undef for types that the operators of the graph API do not have.
constexpr dnnl_data_type_t onednn_type(data_type type) {
    const auto newer = [](auto name) { return static_cast<dnnl_data_type_t>(name); };
    switch (type) {
        case data_type::f32: return dnnl_f32;
        case data_type::s32: return dnnl_s32;
        case data_type::s8: return dnnl_s8;
        case data_type::u8: return dnnl_u8;
        case data_type::f16: return dnnl_f16;
        case data_type::bf16: return dnnl_bf16;
        case data_type::s4: return newer(graph::newer::s4);
        case data_type::u4: return newer(graph::newer::u4);
        case data_type::f8_e4m3: return newer(graph::newer::f8_e4m3);
        case data_type::f8_e5m2: return newer(graph::newer::f8_e5m2);
        case data_type::f8_e8m0: return newer(graph::newer::e8m0);
        case data_type::f4_e2m1: return newer(graph::newer::f4_e2m1);
        case data_type::s16:
        case data_type::u16:
        case data_type::u32:
        case data_type::s2:
        case data_type::u2:
        case data_type::f6_e2m3:
        case data_type::f6_e3m2:
        case data_type::f8_e4m3fnuz:
        case data_type::f8_e5m2fnuz: break;
    }
    return dnnl_data_type_undef;
}

/// Nothing for types that dynquant does not have.
std::optional<data_type> from_onednn(dnnl_data_type_t type);

/// "s4", even if the installed oneDNN has no name for it; "number 99" for an unknown type.
std::string name_of(dnnl_data_type_t type);

} // namespace dynquant
