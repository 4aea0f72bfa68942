// Conversions between oneDNN's data types and statuses and dynquant's.
#pragma once

#include "dynquant/error.hpp"
#include "dynquant/newer_names.hpp"
#include "dynquant/quantization.hpp"
#include "elements/table.hpp"

namespace dynquant {

/// undef for types that the operators of the graph API do not have.
constexpr dnnl_data_type_t onednn_type(data_type type) {
    return static_cast<dnnl_data_type_t>(traits(type).onednn);
}
static_assert(no_number == dnnl_data_type_undef);
static_assert(all_of_types([]<data_type type>() {
    constexpr auto is = [](auto name) { return traits(type).onednn == static_cast<int>(name); };
    switch (type) {
        case data_type::f32: return is(dnnl_f32);
        case data_type::s32: return is(dnnl_s32);
        case data_type::s8: return is(dnnl_s8);
        case data_type::u8: return is(dnnl_u8);
        case data_type::f16: return is(dnnl_f16);
        case data_type::bf16: return is(dnnl_bf16);
        case data_type::s4: return is(graph::newer::s4);
        case data_type::u4: return is(graph::newer::u4);
        case data_type::f8_e4m3: return is(graph::newer::f8_e4m3);
        case data_type::f8_e5m2: return is(graph::newer::f8_e5m2);
        case data_type::f8_e8m0: return is(graph::newer::e8m0);
        case data_type::f4_e2m1: return is(graph::newer::f4_e2m1);
        default: return is(dnnl_data_type_undef);
    }
}),
        "expected oneDNN's number, with its name above, or none");

/// Nothing for types that dynquant does not have.
std::optional<data_type> from_onednn(dnnl_data_type_t type);

/// "s4", even if the installed oneDNN has no name for it; "number 99" for an unknown type.
std::string name_of(dnnl_data_type_t type);

/// The status for one of oneDNN's besides success. What is wrong with a graph is wrong with an argument here.
status from_onednn(dnnl_status_t of_onednn);

} // namespace dynquant
