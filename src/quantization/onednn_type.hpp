// Conversions between oneDNN's data types and dynquant's.
#pragma once

#include "dynquant/newer_names.hpp"
#include "dynquant/quantization.hpp"
#include "elements/table.hpp"

namespace dynquant {

/// undef for types that the operators of the graph API do not have.
constexpr dnnl_data_type_t onednn_type(data_type type) {
    return static_cast<dnnl_data_type_t>(traits(type).onednn);
}
static_assert(no_number == dnnl_data_type_undef);
static_assert(onednn_type(data_type::f32) == dnnl_f32 && onednn_type(data_type::s32) == dnnl_s32);
static_assert(onednn_type(data_type::s8) == dnnl_s8 && onednn_type(data_type::u8) == dnnl_u8);
static_assert(onednn_type(data_type::f16) == dnnl_f16 && onednn_type(data_type::bf16) == dnnl_bf16);
static_assert(traits(data_type::s4).onednn == static_cast<int>(graph::newer::s4));
static_assert(traits(data_type::u4).onednn == static_cast<int>(graph::newer::u4));
static_assert(traits(data_type::f8_e4m3).onednn == static_cast<int>(graph::newer::f8_e4m3));
static_assert(traits(data_type::f8_e5m2).onednn == static_cast<int>(graph::newer::f8_e5m2));
static_assert(traits(data_type::f8_e8m0).onednn == static_cast<int>(graph::newer::e8m0));
static_assert(traits(data_type::f4_e2m1).onednn == static_cast<int>(graph::newer::f4_e2m1));

/// Nothing for types that dynquant does not have.
std::optional<data_type> from_onednn(dnnl_data_type_t type);

/// "s4", even if the installed oneDNN has no name for it; "number 99" for an unknown type.
std::string name_of(dnnl_data_type_t type);

} // namespace dynquant
