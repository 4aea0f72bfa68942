// Each row of the schema table agrees with the operator's specification.
#include "graph/op_schema.hpp"

#include <gtest/gtest.h>

namespace dynquant::graph::core {
namespace {

using types = std::vector<dnnl_data_type_t>;
const auto s4 = static_cast<dnnl_data_type_t>(11), u4 = static_cast<dnnl_data_type_t>(12);
const auto f8_e5m2 = static_cast<dnnl_data_type_t>(9), f8_e4m3 = static_cast<dnnl_data_type_t>(10);
const types real = {dnnl_f32, dnnl_f16, dnnl_bf16}, integer = {dnnl_s8, dnnl_u8, s4, u4};
const types static_real = {dnnl_f32}, static_quantized = {dnnl_s8, dnnl_u8, f8_e4m3, f8_e5m2};
const types zero_point = {dnnl_s8, dnnl_u8, dnnl_s32, s4, u4};
const auto f8_e8m0 = static_cast<dnnl_data_type_t>(13), f4_e2m1 = static_cast<dnnl_data_type_t>(14);
const types computed_quantized = {dnnl_s8, dnnl_u8, s4, u4, f8_e4m3, f8_e5m2, f4_e2m1};
const types computed_scale = {dnnl_f32, dnnl_f16, dnnl_bf16, f8_e4m3, f8_e8m0};

void expect_port(const port_schema &port, const std::string &name, const types &allowed, bool required) {
    EXPECT_EQ(port.name, name);
    EXPECT_EQ(types(port.types.begin(), port.types.end()), allowed) << name;
    EXPECT_EQ(port.required, required) << name;
}

void expect_attribute(const attribute_schema &given, dnnl_graph_op_attr_t attr, const std::string &name,
        value_type type, bool list, bool required) {
    EXPECT_EQ(given.attr, attr) << name;
    EXPECT_EQ(given.name, name);
    EXPECT_EQ(given.type, type) << name;
    EXPECT_EQ(given.list, list) << name;
    EXPECT_EQ(given.required, required) << name;
}

const op_schema &row(dnnl_graph_op_kind_t kind, const std::string &name, direction dir) {
    const auto *schema = find_schema(kind);
    if (!schema) throw std::logic_error(name + " has no row");
    EXPECT_EQ(schema->kind, kind);
    EXPECT_EQ(schema->name, name);
    EXPECT_EQ(schema->dir, dir) << name;
    return *schema;
}

void expect_granularity(const op_schema &op) {
    expect_attribute(op.attributes[0], dnnl_graph_op_attr_qtype, "qtype", value_type::string, false, false);
    expect_attribute(op.attributes[1], dnnl_graph_op_attr_axis, "axis", value_type::s64, false, false);
    expect_attribute(
            op.attributes[2], static_cast<dnnl_graph_op_attr_t>(0x4e), "group_shape", value_type::s64, true, false);
    expect_attribute(op.attributes[3], static_cast<dnnl_graph_op_attr_t>(0x33), "mask", value_type::s64, false, false);
}

void expect_dynamic(const op_schema &op, const types &from, const types &scale, const types &to) {
    ASSERT_EQ(op.inputs.size(), 3u);
    expect_port(op.inputs[src], "src", from, true);
    expect_port(op.inputs[scales], "scales", scale, true);
    expect_port(op.inputs[zps], "zps", zero_point, false);
    ASSERT_EQ(op.outputs.size(), 1u);
    expect_port(op.outputs[0], "dst", to, true);
    ASSERT_EQ(op.attributes.size(), 4u);
    expect_granularity(op);
}

void expect_static(const op_schema &op, const types &from, const types &to) {
    ASSERT_EQ(op.inputs.size(), 1u);
    expect_port(op.inputs[src], "src", from, true);
    ASSERT_EQ(op.outputs.size(), 1u);
    expect_port(op.outputs[0], "dst", to, true);
    ASSERT_EQ(op.attributes.size(), 4u);
    expect_attribute(op.attributes[0], dnnl_graph_op_attr_qtype, "qtype", value_type::string, false, false);
    expect_attribute(op.attributes[1], dnnl_graph_op_attr_axis, "axis", value_type::s64, false, false);
    expect_attribute(op.attributes[2], dnnl_graph_op_attr_scales, "scales", value_type::f32, true, true);
    expect_attribute(op.attributes[3], dnnl_graph_op_attr_zps, "zps", value_type::s64, true, false);
}

TEST(op_schema, dynamic_quantize) {
    expect_dynamic(row(dnnl_graph_op_dynamic_quantize, "DynamicQuantize", direction::quantize), real, real, integer);
}

TEST(op_schema, dynamic_dequantize) {
    expect_dynamic(row(dnnl_graph_op_dynamic_dequantize, "DynamicDequantize", direction::dequantize),
            computed_quantized, computed_scale, real);
}

TEST(op_schema, dynamic_quantize_that_computes_its_scales) {
    op_record op {1, dnnl_graph_op_dynamic_quantize, "", {}, {}, {}};
    set_attr_str(op, scale_rule_attr, "absmax", 6);
    const auto &schema = *find_schema(op);
    EXPECT_EQ(schema.kind, dnnl_graph_op_dynamic_quantize);
    EXPECT_EQ(schema.name, std::string("DynamicQuantize"));
    EXPECT_EQ(schema.dir, direction::quantize);
    ASSERT_EQ(schema.inputs.size(), 2u);
    expect_port(schema.inputs[src], "src", real, true);
    expect_port(schema.inputs[global_scale], "global_scale", static_real, false);
    ASSERT_EQ(schema.outputs.size(), 3u);
    expect_port(schema.outputs[0], "dst", computed_quantized, true);
    expect_port(schema.outputs[scales], "scales", computed_scale, true);
    expect_port(schema.outputs[zps], "zps", integer, false);
    ASSERT_EQ(schema.attributes.size(), 11u);
    expect_granularity(schema);
    const auto attribute = [&](std::size_t position, int number, const char *name, value_type type, bool required) {
        expect_attribute(
                schema.attributes[position], static_cast<dnnl_graph_op_attr_t>(number), name, type, false, required);
    };
    attribute(4, 0xe0, "scale_rule", value_type::string, true);
    attribute(5, 0xe1, "narrow", value_type::boolean, false);
    attribute(6, 0xe2, "least", value_type::f32, false);
    attribute(7, 0xe3, "of_zero", value_type::f32, false);
    attribute(8, 0xe4, "quotient", value_type::string, false);
    attribute(9, 0xe5, "nonfinite", value_type::string, false);
    attribute(10, 0xe6, "saturate", value_type::boolean, false);
}

TEST(op_schema, extensions_are_computed_scales_and_what_only_they_give) {
    const auto typed = [](dnnl_data_type_t type) {
        c_logical_tensor t {};
        t.data_type = type;
        return t;
    };
    const auto is = [&](dnnl_graph_op_kind_t kind, const types &inputs, const types &outputs, bool computes = false) {
        op_record op {1, kind, "", {}, {}, {}};
        for (const auto type : inputs)
            op.inputs.push_back(typed(type));
        for (const auto type : outputs)
            op.outputs.push_back(typed(type));
        if (computes) set_attr_str(op, scale_rule_attr, "absmax", 6);
        return is_extension(op);
    };
    const auto quantize = dnnl_graph_op_dynamic_quantize, dequantize = dnnl_graph_op_dynamic_dequantize;
    EXPECT_TRUE(is(quantize, {dnnl_f32}, {dnnl_s8, dnnl_f32}, true));
    EXPECT_FALSE(is(quantize, {dnnl_f32, dnnl_f32}, {dnnl_s8}));
    EXPECT_TRUE(is(dequantize, {f8_e4m3, dnnl_f32}, {dnnl_f32}));
    EXPECT_TRUE(is(dequantize, {f4_e2m1, dnnl_f32}, {dnnl_f32}));
    EXPECT_TRUE(is(dequantize, {dnnl_s8, f8_e8m0}, {dnnl_f32}));
    EXPECT_FALSE(is(dequantize, {dnnl_s8, dnnl_f16, dnnl_s8}, {dnnl_bf16}));
    EXPECT_FALSE(is(dnnl_graph_op_dequantize, {f8_e4m3}, {dnnl_f32}));
    EXPECT_FALSE(is(dnnl_graph_op_quantize, {dnnl_f32}, {dnnl_s8}, true)); // refused for its attribute
}

TEST(op_schema, quantize) {
    expect_static(row(dnnl_graph_op_quantize, "Quantize", direction::quantize), static_real, static_quantized);
}

TEST(op_schema, dequantize) {
    expect_static(row(dnnl_graph_op_dequantize, "Dequantize", direction::dequantize), static_quantized, static_real);
}

TEST(op_schema, other_ops_have_no_row) {
    EXPECT_EQ(op_schemas().size(), 4u);
    EXPECT_EQ(find_schema(dnnl_graph_op_add), nullptr);
    EXPECT_EQ(find_schema(dnnl_graph_op_last_symbol), nullptr);
}

} // namespace
} // namespace dynquant::graph::core
