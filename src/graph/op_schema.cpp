#include "graph/op_schema.hpp"

#include <algorithm>

namespace dynquant::graph::core {
namespace {

constexpr dnnl_data_type_t real[] = {dnnl_f32};
constexpr dnnl_data_type_t integer[] = {dnnl_s8, dnnl_u8};
constexpr dnnl_data_type_t zero_point[] = {dnnl_s8, dnnl_u8, dnnl_s32};

constexpr port_schema from_real[] = {{"src", real, true}, {"scales", real, true}, {"zps", zero_point, false}};
constexpr port_schema from_integer[] = {{"src", integer, true}, {"scales", real, true}, {"zps", zero_point, false}};
constexpr port_schema to_real = {"dst", real, true};
constexpr port_schema to_integer = {"dst", integer, true};

constexpr attribute_schema every_attribute[] = {
        {dnnl_graph_op_attr_qtype, "qtype", value_type::string, false, false},
        {dnnl_graph_op_attr_axis, "axis", value_type::s64, false, false},
        {dnnl_graph_op_attr_scales, "scales", value_type::f32, true, true},
        {dnnl_graph_op_attr_zps, "zps", value_type::s64, true, false},
};

// An op has its scales and zps either as inputs or as attributes.
constexpr std::span attributes(every_attribute);
constexpr auto granularity = attributes.first(2);
constexpr auto src_only(std::span<const port_schema> inputs) {
    return inputs.first(1);
}

constexpr op_schema table[] = {
        {dnnl_graph_op_dynamic_quantize, "DynamicQuantize", direction::quantize, from_real, to_integer, granularity},
        {dnnl_graph_op_dynamic_dequantize, "DynamicDequantize", direction::dequantize, from_integer, to_real,
                granularity},
        {dnnl_graph_op_quantize, "Quantize", direction::quantize, src_only(from_real), to_integer, attributes},
        {dnnl_graph_op_dequantize, "Dequantize", direction::dequantize, src_only(from_integer), to_real, attributes},
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
