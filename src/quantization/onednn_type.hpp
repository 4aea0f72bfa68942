// oneDNN's numbers for data types, those newer than the installed headers included.
#pragma once

#include <oneapi/dnnl/dnnl_types.h>
#include <oneapi/dnnl/dnnl_version.h>

#include "dynquant/quantization.hpp"

namespace dynquant {

// As of oneDNN 3.13's dnnl_common_types.h. Headers may call them dnnl_f8_e5m2 and so on.
inline constexpr auto onednn_f8_e5m2 = static_cast<dnnl_data_type_t>(9);
inline constexpr auto onednn_f8_e4m3 = static_cast<dnnl_data_type_t>(10);
inline constexpr auto onednn_s4 = static_cast<dnnl_data_type_t>(11);
inline constexpr auto onednn_u4 = static_cast<dnnl_data_type_t>(12);

#if DNNL_VERSION_MAJOR > 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= 5)
static_assert(onednn_f8_e5m2 == dnnl_f8_e5m2 && onednn_f8_e4m3 == dnnl_f8_e4m3);
static_assert(onednn_s4 == dnnl_s4 && onednn_u4 == dnnl_u4);
#endif

constexpr dnnl_data_type_t onednn_type(data_type type) {
    switch (type) {
        case data_type::f32: return dnnl_f32;
        case data_type::s32: return dnnl_s32;
        case data_type::s8: return dnnl_s8;
        case data_type::u8: return dnnl_u8;
        case data_type::f16: return dnnl_f16;
        case data_type::bf16: return dnnl_bf16;
        case data_type::s4: return onednn_s4;
        case data_type::u4: return onednn_u4;
        case data_type::f8_e4m3: return onednn_f8_e4m3;
        case data_type::f8_e5m2: break;
    }
    return onednn_f8_e5m2;
}

} // namespace dynquant
