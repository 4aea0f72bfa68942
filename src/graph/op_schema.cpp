#include "graph/op_schema.hpp"

#include <algorithm>

#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

constexpr auto f32 = dnnl_f32, f16 = dnnl_f16, bf16 = dnnl_bf16, s32 = dnnl_s32, s8 = dnnl_s8, u8 = dnnl_u8;
constexpr auto s4 = onednn_type(data_type::s4), u4 = onednn_type(data_type::u4);
constexpr auto f8_e4m3 = onednn_type(data_type::f8_e4m3), f8_e5m2 = onednn_type(data_type::f8_e5m2);

constexpr dnnl_data_type_t static_real[] = {f32};
constexpr dnnl_data_type_t static_quantized[] = {s8, u8, f8_e4m3, f8_e5m2};
constexpr dnnl_data_type_t dynamic_real[] = {f32, f16, bf16};
constexpr dnnl_data_type_t dynamic_integer[] = {s8, u8, s4, u4};
constexpr dnnl_data_type_t zero_point[] = {s8, u8, s32, s4, u4};

constexpr port_schema to_integer[] = {
        {"src", dynamic_real, true}, {"scales", dynamic_real, true}, {"zps", zero_point, false}};
constexpr port_schema from_integer[] = {
        {"src", dynamic_integer, true}, {"scales", dynamic_real, true}, {"zps", zero_point, false}};
constexpr port_schema from_static_real[] = {{"src", static_real, true}};
constexpr port_schema from_static_quantized[] = {{"src", static_quantized, true}};

constexpr attribute_schema qtype = {dnnl_graph_op_attr_qtype, "qtype", value_type::string, false, false};
constexpr attribute_schema axis = {dnnl_graph_op_attr_axis, "axis", value_type::s64, false, false};

// An op has its scales and zps either as inputs or as attributes.
constexpr attribute_schema dynamic_attributes[] = {
        qtype,
        axis,
        {group_shape_attr, "group_shape", value_type::s64, true, false},
        {mask_attr, "mask", value_type::s64, false, false},
};
constexpr attribute_schema static_attributes[] = {
        qtype,
        axis,
        {dnnl_graph_op_attr_scales, "scales", value_type::f32, true, true},
        {dnnl_graph_op_attr_zps, "zps", value_type::s64, true, false},
};

constexpr op_schema table[] = {
        {dnnl_graph_op_dynamic_quantize, "DynamicQuantize", direction::quantize, to_integer,
                {"dst", dynamic_integer, true}, dynamic_attributes},
        {dnnl_graph_op_dynamic_dequantize, "DynamicDequantize", direction::dequantize, from_integer,
                {"dst", dynamic_real, true}, dynamic_attributes},
        {dnnl_graph_op_quantize, "Quantize", direction::quantize, from_static_real, {"dst", static_quantized, true},
                static_attributes},
        {dnnl_graph_op_dequantize, "Dequantize", direction::dequantize, from_static_quantized,
                {"dst", static_real, true}, static_attributes},
};

} // namespace

std::span<const op_schema> op_schemas() {
    return table;
}

const op_schema *find_schema(dnnl_graph_op_kind_t kind) {
    const auto row = std::ranges::find(table, kind, &op_schema::kind);
    return row == std::end(table) ? nullptr : row;
}

} // namespace dynquant::graph::core
