#include "graph/op_schema.hpp"

#include <algorithm>

#include "elements/table.hpp"
#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

constexpr auto f32 = dnnl_f32, f16 = dnnl_f16, bf16 = dnnl_bf16, s32 = dnnl_s32, s8 = dnnl_s8, u8 = dnnl_u8;
constexpr auto s4 = onednn_type(data_type::s4), u4 = onednn_type(data_type::u4);
constexpr auto f8_e4m3 = onednn_type(data_type::f8_e4m3), f8_e5m2 = onednn_type(data_type::f8_e5m2);
constexpr auto f8_e8m0 = onednn_type(data_type::f8_e8m0), f4_e2m1 = onednn_type(data_type::f4_e2m1);

constexpr dnnl_data_type_t static_real[] = {f32};
constexpr dnnl_data_type_t static_quantized[] = {s8, u8, f8_e4m3, f8_e5m2};
constexpr dnnl_data_type_t dynamic_real[] = {f32, f16, bf16};
constexpr dnnl_data_type_t dynamic_integer[] = {s8, u8, s4, u4};
constexpr dnnl_data_type_t zero_point[] = {s8, u8, s32, s4, u4};
// What computed scales give, and DynamicDequantize reads.
constexpr dnnl_data_type_t computed_quantized[] = {s8, u8, s4, u4, f8_e4m3, f8_e5m2, f4_e2m1};
constexpr dnnl_data_type_t computed_scale[] = {f32, f16, bf16, f8_e4m3, f8_e8m0};

constexpr port_schema to_integer[] = {
        {"src", dynamic_real, true}, {"scales", dynamic_real, true}, {"zps", zero_point, false}};
constexpr port_schema from_quantized[] = {
        {"src", computed_quantized, true}, {"scales", computed_scale, true}, {"zps", zero_point, false}};
constexpr port_schema integer[] = {{"dst", dynamic_integer, true}}, real[] = {{"dst", dynamic_real, true}};
constexpr port_schema from_static_real[] = {{"src", static_real, true}};
constexpr port_schema from_static_quantized[] = {{"src", static_quantized, true}};
constexpr port_schema to_static_real[] = {{"dst", static_real, true}};
constexpr port_schema to_static_quantized[] = {{"dst", static_quantized, true}};
constexpr port_schema to_computed[] = {{"src", dynamic_real, true}, {"global_scale", static_real, false}};
constexpr port_schema computed[] = {
        {"dst", computed_quantized, true}, {"scales", computed_scale, true}, {"zps", dynamic_integer, false}};

constexpr attribute_schema qtype = {dnnl_graph_op_attr_qtype, "qtype", value_type::string, false, false};
constexpr attribute_schema axis = {dnnl_graph_op_attr_axis, "axis", value_type::s64, false, false};

constexpr attribute_schema group_shape = {group_shape_attr, "group_shape", value_type::s64, true, false};
constexpr attribute_schema mask = {mask_attr, "mask", value_type::s64, false, false};

// An op has its scales and zps either as inputs or as attributes, or computes them.
constexpr attribute_schema dynamic_attributes[] = {qtype, axis, group_shape, mask};
constexpr attribute_schema computed_attributes[] = {
        qtype,
        axis,
        group_shape,
        mask,
        {scale_rule_attr, "scale_rule", value_type::string, false, true},
        {narrow_attr, "narrow", value_type::boolean, false, false},
        {least_attr, "least", value_type::f32, false, false},
        {of_zero_attr, "of_zero", value_type::f32, false, false},
        {quotient_attr, "quotient", value_type::string, false, false},
        {nonfinite_attr, "nonfinite", value_type::string, false, false},
        {saturate_attr, "saturate", value_type::boolean, false, false},
};
constexpr attribute_schema static_attributes[] = {
        qtype,
        axis,
        {dnnl_graph_op_attr_scales, "scales", value_type::f32, true, true},
        {dnnl_graph_op_attr_zps, "zps", value_type::s64, true, false},
};

constexpr op_schema table[] = {
        {dnnl_graph_op_dynamic_quantize, "DynamicQuantize", direction::quantize, to_integer, integer,
                dynamic_attributes},
        {dnnl_graph_op_dynamic_dequantize, "DynamicDequantize", direction::dequantize, from_quantized, real,
                dynamic_attributes},
        {dnnl_graph_op_quantize, "Quantize", direction::quantize, from_static_real, to_static_quantized,
                static_attributes},
        {dnnl_graph_op_dequantize, "Dequantize", direction::dequantize, from_static_quantized, to_static_real,
                static_attributes},
};
constexpr op_schema computing = {dnnl_graph_op_dynamic_quantize, "DynamicQuantize", direction::quantize, to_computed,
        computed, computed_attributes};

/// Ops of other families that a layer may have.
constexpr struct {
    dnnl_graph_op_kind_t kind;
    const char *name;
} others[] = {
        {dnnl_graph_op_add, "Add"},
        {dnnl_graph_op_bias_add, "BiasAdd"},
        {dnnl_graph_op_clamp, "Clamp"},
        {dnnl_graph_op_convolution, "Convolution"},
        {dnnl_graph_op_divide, "Divide"},
        {dnnl_graph_op_hard_sigmoid, "HardSigmoid"},
        {dnnl_graph_op_hard_swish, "HardSwish"},
        {dnnl_graph_op_leaky_relu, "LeakyReLU"},
        {dnnl_graph_op_matmul, "MatMul"},
        {dnnl_graph_op_multiply, "Multiply"},
        {dnnl_graph_op_prelu, "PReLU"},
        {dnnl_graph_op_relu, "ReLU"},
        {dnnl_graph_op_subtract, "Subtract"},
        {dnnl_graph_op_type_cast, "TypeCast"},
};

bool is_small_float(const c_logical_tensor &t) {
    const auto type = from_onednn(t.data_type);
    return type && !traits(*type).integral && traits(*type).bits <= 8;
}

} // namespace

std::span<const op_schema> op_schemas() {
    return table;
}

const op_schema *find_schema(dnnl_graph_op_kind_t kind) {
    const auto row = std::ranges::find(table, kind, &op_schema::kind);
    return row == std::end(table) ? nullptr : row;
}

const char *kind_name(dnnl_graph_op_kind_t kind) {
    if (const auto *schema = find_schema(kind)) return schema->name;
    const auto *const found = std::ranges::find(others, kind, [](const auto &row) { return row.kind; });
    return found == std::end(others) ? nullptr : found->name;
}

bool computes_scales(const op_record &op) {
    return op.kind == dnnl_graph_op_dynamic_quantize && op.attributes.contains(scale_rule_attr);
}

const op_schema *find_schema(const op_record &op) {
    return computes_scales(op) ? &computing : find_schema(op.kind);
}

bool is_extension(const op_record &op) {
    return computes_scales(op)
            || (op.kind == dnnl_graph_op_dynamic_dequantize && std::ranges::any_of(op.inputs, is_small_float));
}

} // namespace dynquant::graph::core
