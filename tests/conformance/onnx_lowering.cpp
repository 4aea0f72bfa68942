// ONNX's nodes become the right statements: types, granularity, the type of the division, inferred outputs. Clauses are
// those of onnx 1.23.2's QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, and of AMD Quark's Extended
// operators.
#include "support/onnx.hpp"

namespace dynquant::test {
namespace {

using namespace tensor_proto;

quantization statement_of(const onnx::node &n) {
    return onnx::lower(n).statement;
}

onnx::element_type y_of(const onnx::node &n) {
    const auto types = onnx::output_types(n);
    EXPECT_EQ(types.size(), 1U);
    return types.front();
}

TEST(onnx_lowering, quantize_linear_is_a_statement_under_onnx_numerics) {
    const auto meaning = onnx::lower(quantize_linear(13, {{float32, {2, 3}}, {float32, {}}, {int8, {}}}));
    const auto &q = meaning.statement;
    EXPECT_EQ(q.dir, direction::quantize);
    EXPECT_EQ(q.rule, numerics::onnx);
    EXPECT_EQ(q.src.type, data_type::f32);
    EXPECT_EQ(q.src.dims, (dims {2, 3}));
    EXPECT_EQ(q.dst.type, data_type::s8);
    EXPECT_EQ(q.dst.dims, (dims {2, 3}));
    EXPECT_EQ(q.scales.type, data_type::f32);
    EXPECT_TRUE(q.scales.values.empty());
    ASSERT_TRUE(q.zero_points);
    EXPECT_EQ(q.zero_points->type, data_type::s8);
    EXPECT_EQ(q.division, precision::f32);
    EXPECT_FALSE(q.saturate);
    EXPECT_FALSE(meaning.dynamic);
    ASSERT_EQ(meaning.outputs.size(), 1U);
    EXPECT_EQ(meaning.outputs[0].type, int8);
    EXPECT_EQ(meaning.outputs[0].shape, (dims {2, 3}));
}

TEST(onnx_lowering, dequantize_linear_is_a_statement_under_onnx_numerics) {
    const auto meaning = onnx::lower(dequantize_linear(19, {{uint8, {4}}, {float16, {1}}, {uint8, {}}}));
    const auto &q = meaning.statement;
    EXPECT_EQ(q.dir, direction::dequantize);
    EXPECT_EQ(q.rule, numerics::onnx);
    EXPECT_EQ(q.src.type, data_type::u8);
    EXPECT_EQ(q.dst.type, data_type::f16);
    EXPECT_EQ(q.scales.type, data_type::f16);
    ASSERT_TRUE(q.zero_points);
    EXPECT_EQ(q.zero_points->type, data_type::u8);
    EXPECT_EQ(meaning.outputs[0].type, float16);
}

TEST(onnx_lowering, y_is_of_the_zero_points_type_else_of_output_dtype_else_uint8) {
    EXPECT_EQ(y_of(quantize_linear(10, {{float32}, {float32}})), uint8);
    EXPECT_EQ(y_of(quantize_linear(10, {{float32}, {float32}, {}})), uint8) << "an input left out";
    EXPECT_EQ(y_of(quantize_linear(10, {{float32}, {float32}, {int8}})), int8);
    EXPECT_EQ(y_of(quantize_linear(21, {{float32}, {float32}}, {{"output_dtype", int16}})), int16);
    EXPECT_EQ(y_of(quantize_linear(21, {{float32}, {float32}, {int4}}, {{"output_dtype", int4}})), int4);
    EXPECT_EQ(y_of(quantize_linear(21, {{float32}, {float32}, {uint4}}, {{"output_dtype", 0}})), uint4);
}

TEST(onnx_lowering, dequantized_y_is_of_output_dtype_else_of_the_scales_type) {
    EXPECT_EQ(y_of(dequantize_linear(10, {{int32}, {float32}})), float32);
    EXPECT_EQ(y_of(dequantize_linear(19, {{float8e5m2}, {bfloat16}})), bfloat16);
    EXPECT_EQ(y_of(dequantize_linear(23, {{uint8}, {float32}}, {{"output_dtype", float16}})), float16);
    EXPECT_EQ(y_of(dequantize_linear(24, {{int8}, {float8e8m0}}, {{"output_dtype", bfloat16}})), bfloat16);
}

TEST(onnx_lowering, the_version_is_the_newest_that_the_opset_has) {
    // uint2 came with opset 25, float6 with 28; 22 is 21, 27 is 25.
    EXPECT_EQ(y_of(quantize_linear(22, {{float16}, {float16}, {uint4}})), uint4);
    EXPECT_THROW(onnx::output_types(quantize_linear(24, {{float32}, {float32}, {uint2}})), error);
    EXPECT_EQ(y_of(quantize_linear(27, {{float32}, {float32}, {uint2}})), uint2);
    EXPECT_THROW(onnx::output_types(quantize_linear(27, {{float32}, {float32}, {float6e2m3}})), error);
    EXPECT_EQ(y_of(quantize_linear(28, {{float32}, {float32}, {float6e2m3}})), float6e2m3);
}

TEST(onnx_lowering, the_domains_two_names_are_one) {
    auto n = quantize_linear(10, {{float32, {4}}, {float32, {}}});
    n.domain = "ai.onnx";
    EXPECT_EQ(statement_of(n).dst.type, data_type::u8);
}

TEST(onnx_lowering, every_quantized_type_has_its_data_type) {
    const std::pair<onnx::element_type, data_type> types[] = {{uint8, data_type::u8}, {int8, data_type::s8},
            {uint16, data_type::u16}, {int16, data_type::s16}, {uint4, data_type::u4}, {int4, data_type::s4},
            {uint2, data_type::u2}, {int2, data_type::s2}, {float8e4m3fn, data_type::f8_e4m3},
            {float8e4m3fnuz, data_type::f8_e4m3fnuz}, {float8e5m2, data_type::f8_e5m2},
            {float8e5m2fnuz, data_type::f8_e5m2fnuz}, {float4e2m1, data_type::f4_e2m1},
            {float6e2m3, data_type::f6_e2m3}, {float6e3m2, data_type::f6_e3m2}};
    for (const auto &[number, type] : types) {
        EXPECT_EQ(onnx::data_type_of(number), type);
        EXPECT_EQ(onnx::element_type_of(type), number);
        const auto quantized = statement_of(quantize_linear(28, {{float32, {6}}, {float32, {}}, {number, {}}}));
        EXPECT_EQ(quantized.dst.type, type);
        EXPECT_EQ(quantized.zero_points->type, type);
        const auto dequantized = statement_of(dequantize_linear(28, {{number, {6}}, {float32, {}}, {number, {}}}));
        EXPECT_EQ(dequantized.src.type, type);
    }
    const auto of_int32 = statement_of(dequantize_linear(10, {{int32, {6}}, {float32, {}}, {int32, {}}}));
    EXPECT_EQ(of_int32.src.type, data_type::s32);
    EXPECT_EQ(of_int32.zero_points->type, data_type::s32);
    EXPECT_FALSE(onnx::data_type_of(int64));
    EXPECT_FALSE(onnx::data_type_of(99));
    EXPECT_FALSE(onnx::data_type_of(-1));
}

TEST(onnx_lowering, a_number_that_is_no_data_type_has_no_element_type) {
    for (const int number : {-1, 21, 1000000})
        try {
            onnx::element_type_of(static_cast<data_type>(number));
            ADD_FAILURE() << number;
        } catch (const error &thrown) {
            EXPECT_EQ(thrown.status, status::invalid_data_type);
            EXPECT_EQ(thrown.what(),
                    "element_type_of: expected a type of data_type, given number " + std::to_string(number));
        }
}

// Granularity.

dims block_of(const onnx::node &n) {
    const auto q = statement_of(n);
    if (q.zero_points) {
        EXPECT_EQ(q.zero_points->block, q.scales.block);
    }
    return q.scales.block;
}

TEST(onnx_lowering, a_scale_of_one_element_is_per_tensor_and_axis_is_not_looked_at) {
    const dims x = {4, 8, 3};
    for (const dims &scale : {dims {}, dims {1}, dims {1, 1, 1}})
        EXPECT_EQ(block_of(quantize_linear(13, {{float32, x}, {float32, scale}}, {{"axis", 7}})), x);
    EXPECT_EQ(block_of(quantize_linear(21, {{float32, x}, {float32, {}}}, {{"block_size", 2}})), x);
    EXPECT_EQ(block_of(quantize_linear(10, {{float32, {}}, {float32, {}}})), dims {});
    EXPECT_EQ(block_of(quantize_linear(10, {{float32, {5}}, {float32, {1}}})), dims {5});
}

TEST(onnx_lowering, a_scalar_and_a_vector_of_one_are_equal_shapes) {
    EXPECT_EQ(block_of(quantize_linear(10, {{float32, {5}}, {float32, {}}, {uint8, {1}}})), dims {5});
    EXPECT_EQ(block_of(dequantize_linear(10, {{uint8, {5}}, {float32, {1}}, {uint8, {}}})), dims {5});
}

TEST(onnx_lowering, a_vector_of_scales_is_per_axis_and_axis_defaults_to_1) {
    EXPECT_EQ(block_of(quantize_linear(13, {{float32, {4, 8, 3}}, {float32, {8}}, {int8, {8}}})), (dims {4, 1, 3}));
    EXPECT_EQ(block_of(quantize_linear(13, {{float32, {4, 8, 3}}, {float32, {4}}}, {{"axis", 0}})), (dims {1, 8, 3}));
    EXPECT_EQ(block_of(quantize_linear(13, {{float32, {4, 8, 3}}, {float32, {3}}}, {{"axis", -1}})), (dims {4, 8, 1}));
    EXPECT_EQ(block_of(dequantize_linear(13, {{int8, {4, 8}}, {float32, {4}}}, {{"axis", -2}})), (dims {1, 8}));
}

TEST(onnx_lowering, rank_1_is_per_axis_for_axis_0_or_minus_1) {
    for (const std::int64_t axis : {0, -1})
        EXPECT_EQ(block_of(quantize_linear(13, {{float32, {5}}, {float32, {5}}}, {{"axis", axis}})), dims {1});
}

TEST(onnx_lowering, scales_of_the_rank_of_x_are_blocked) {
    EXPECT_EQ(
            block_of(quantize_linear(21, {{float32, {4, 8}}, {float32, {4, 2}}, {uint8, {4, 2}}}, {{"block_size", 4}})),
            (dims {1, 4}));
    EXPECT_EQ(block_of(dequantize_linear(21, {{uint8, {6, 5}}, {float16, {2, 5}}}, {{"block_size", 3}, {"axis", -2}})),
            (dims {3, 1}));
    EXPECT_EQ(
            block_of(quantize_linear(21, {{float32, {7}}, {float32, {3}}}, {{"block_size", 3}, {"axis", 0}})), dims {3})
            << "the last block is short: 3 + 3 + 1";
    EXPECT_EQ(block_of(quantize_linear(21, {{float32, {4, 8}}, {float32, {4, 1}}}, {{"block_size", INT64_MAX}})),
            (dims {1, 8}))
            << "one block, longer than the axis";
}

TEST(onnx_lowering, extents_of_0_are_right) {
    EXPECT_EQ(block_of(quantize_linear(13, {{float32, {0, 3}}, {float32, {3}}})), (dims {0, 1}));
    EXPECT_EQ(block_of(quantize_linear(13, {{float32, {3, 0}}, {float32, {0}}})), (dims {3, 1}));
    EXPECT_EQ(
            block_of(quantize_linear(21, {{float32, {3, 0}}, {float32, {3, 0}}}, {{"block_size", 4}})), (dims {1, 1}));
}

TEST(onnx_lowering, ranks_above_12_are_merged_around_the_axis) {
    const dims extents = {2, 1, 3, 1, 1, 2, 1, 5, 1, 1, 1, 1, 1, 4}; // 6 x 2 x 20 around axis 5
    const auto meaning = [&](const dims &scale, std::vector<onnx::attribute> attributes) {
        const auto result =
                onnx::lower(quantize_linear(21, {{float32, extents}, {float32, scale}}, std::move(attributes)));
        EXPECT_EQ(result.outputs.at(0).shape, extents);
        EXPECT_EQ(result.statement.dst.dims, result.statement.src.dims);
        return result.statement;
    };
    const auto per_tensor = meaning({}, {});
    EXPECT_EQ(per_tensor.src.dims, (dims {240}));
    EXPECT_EQ(per_tensor.scales.block, (dims {240}));

    const auto per_axis = meaning({2}, {{"axis", 5}});
    EXPECT_EQ(per_axis.src.dims, (dims {6, 2, 20}));
    EXPECT_EQ(per_axis.scales.block, (dims {6, 1, 20}));

    dims scale = extents;
    scale[7] = 2;
    const auto blocked = meaning(scale, {{"axis", 7}, {"block_size", 3}});
    EXPECT_EQ(blocked.src.dims, (dims {12, 5, 4}));
    EXPECT_EQ(blocked.scales.block, (dims {1, 3, 1}));

    const auto dynamic = onnx::lower(make_node("DynamicQuantizeLinear", 11, {{float32, extents}}));
    EXPECT_EQ(dynamic.statement.src.dims, (dims {240}));
    EXPECT_EQ(dynamic.outputs.at(0).shape, extents);
}

TEST(onnx_lowering, ranks_above_12_without_elements) {
    dims extents(13, INT64_MAX);
    extents[6] = 0;
    const auto meaning = onnx::lower(quantize_linear(13, {{float32, extents}, {float32, {}}}));
    EXPECT_EQ(meaning.statement.src.dims, (dims {0}));
    EXPECT_EQ(meaning.outputs.at(0).shape, extents);
}

// The type of the division.

precision division_of(std::int64_t opset, onnx::element_type x, onnx::element_type scale,
        std::optional<onnx::element_type> requested = {}) {
    auto n = quantize_linear(opset, {{x, {4}}, {scale, {}}});
    if (requested) n.attributes = {{"precision", *requested}};
    return statement_of(n).division;
}

TEST(onnx_lowering, before_opset_23_the_division_is_in_the_type_of_x_and_scale) {
    EXPECT_EQ(division_of(10, float32, float32), precision::f32);
    EXPECT_EQ(division_of(13, int32, float32), precision::f32);
    EXPECT_EQ(division_of(19, float16, float16), precision::f16);
    EXPECT_EQ(division_of(21, bfloat16, bfloat16), precision::bf16);
    EXPECT_EQ(division_of(21, int32, int32), precision::f64);
}

TEST(onnx_lowering, from_opset_23_the_division_is_in_the_type_of_scale_or_of_precision) {
    EXPECT_EQ(division_of(23, float32, float16), precision::f16);
    EXPECT_EQ(division_of(23, float16, float32), precision::f32);
    EXPECT_EQ(division_of(23, int32, bfloat16), precision::bf16);
    EXPECT_EQ(division_of(23, int32, int32), precision::f64);
    EXPECT_EQ(division_of(23, float32, int32), precision::f64); // for every type of x
    EXPECT_EQ(division_of(23, float16, int32), precision::f64);
    EXPECT_EQ(division_of(24, float16, float8e8m0), precision::f32);
    EXPECT_EQ(division_of(23, float16, float16, float32), precision::f32);
    EXPECT_EQ(division_of(25, float32, float32, bfloat16), precision::bf16);
    EXPECT_EQ(division_of(28, float32, float32, float16), precision::f16);
    EXPECT_EQ(division_of(23, float16, float16, undefined), precision::f16);
}

bool saturates(onnx::element_type y, std::optional<std::int64_t> saturate = {}) {
    auto n = quantize_linear(28, {{float32, {4}}, {float32, {}}}, {{"output_dtype", y}});
    if (saturate) n.attributes.push_back({"saturate", *saturate});
    return statement_of(n).saturate;
}

TEST(onnx_lowering, saturate_is_for_float8_and_is_1_when_left_out) {
    for (const auto y : {float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz}) {
        EXPECT_TRUE(saturates(y));
        EXPECT_TRUE(saturates(y, 1));
        EXPECT_FALSE(saturates(y, 0));
    }
    for (const auto y : {float4e2m1, float6e2m3, float6e3m2})
        EXPECT_TRUE(saturates(y, 0)) << "the smaller floats have nothing else to overflow to";
}

// AMD Quark's operators.

TEST(onnx_lowering, quarks_operators_divide_in_float_and_saturate) {
    const auto q = statement_of(quark("ExtendedQuantizeLinear", {{float32, {2, 3}}, {float32, {3}}, {float16, {3}}}));
    EXPECT_EQ(q.dst.type, data_type::f16);
    EXPECT_EQ(q.scales.block, (dims {2, 1})) << "axis defaults to 1";
    EXPECT_EQ(q.division, precision::f32);
    EXPECT_TRUE(q.saturate);
    for (const auto type : {int32, int16, int8, uint32, uint16, uint8, float16, bfloat16}) {
        EXPECT_EQ(y_of(quark("ExtendedQuantizeLinear", {{float32}, {float32}, {type}})), type);
        EXPECT_EQ(y_of(quark("ExtendedDequantizeLinear", {{type}, {float32}, {type}})), float32);
    }
    EXPECT_EQ(y_of(quark("ExtendedQuantizeLinear", {{float32}, {float32}})), uint8);
}

// DynamicQuantizeLinear of ONNX and of the domain dynquant.

onnx::lowering dynamic_meaning(const dims &extents, std::vector<onnx::attribute> attributes = {}) {
    return onnx::lower(dynamic_quantize_linear({float32, extents}, std::move(attributes)));
}

TEST(onnx_lowering, dynamic_quantize_linear_has_three_outputs_and_dynquants_defaults_to_onnxs) {
    const auto of_onnx = onnx::lower(make_node("DynamicQuantizeLinear", 11, {{float32, {2, 3}}}));
    EXPECT_TRUE(of_onnx.dynamic);
    for (const auto &meaning : {of_onnx, dynamic_meaning({2, 3})}) {
        EXPECT_EQ(meaning.statement.computed, presets::onnx());
        EXPECT_EQ(meaning.statement.dst.type, data_type::u8);
        EXPECT_EQ(meaning.statement.scales.type, data_type::f32);
        EXPECT_EQ(meaning.statement.scales.block, (dims {2, 3}));
        EXPECT_EQ(meaning.statement.zero_points->type, data_type::u8);
        ASSERT_EQ(meaning.outputs.size(), 3U);
        EXPECT_EQ(meaning.outputs[0].type, uint8);
        EXPECT_EQ(meaning.outputs[0].shape, (dims {2, 3}));
        EXPECT_EQ(meaning.outputs[1].type, float32);
        EXPECT_EQ(meaning.outputs[1].shape, dims {});
        EXPECT_EQ(meaning.outputs[2].type, uint8);
        EXPECT_EQ(meaning.outputs[2].shape, dims {});
    }
    EXPECT_EQ(onnx::output_types(make_node("DynamicQuantizeLinear", 28, {{float32}})),
            (std::vector<onnx::element_type> {uint8, float32, uint8}));
}

TEST(onnx_lowering, axis_and_block_size_say_which_elements_share_a_computed_scale) {
    const auto has = [](const std::vector<onnx::attribute> &attributes, const dims &block, const dims &scales) {
        const auto meaning = dynamic_meaning({2, 5, 4}, attributes);
        EXPECT_EQ(meaning.statement.scales.block, block);
        EXPECT_EQ(meaning.statement.zero_points->block, block);
        EXPECT_EQ(meaning.outputs.at(1).shape, scales);
        EXPECT_EQ(meaning.outputs.at(2).shape, scales);
    };
    has({}, {2, 5, 4}, {});
    has({{"block_size", 0}}, {2, 5, 4}, {});
    has({{"axis", 1}}, {2, 1, 4}, {5});
    has({{"axis", -1}}, {2, 5, 1}, {4});
    has({{"axis", 1}, {"block_size", 2}}, {1, 2, 1}, {2, 3, 4});
    has({{"axis", -3}, {"block_size", 1}}, {1, 1, 1}, {2, 5, 4});
    has({{"axis", -1}, {"block_size", 4}}, {1, 1, 4}, {2, 5, 1});
    has({{"axis", 2}, {"block_size", INT64_MAX}}, {1, 1, 4}, {2, 5, 1});
}

TEST(onnx_lowering, signed_types_have_symmetric_scales_unless_symmetric_is_0) {
    for (const auto type : {uint8, uint4, int8, int4, float8e4m3fn, float8e5m2, float4e2m1, float6e2m3, float6e3m2}) {
        const bool is_unsigned = type == uint8 || type == uint4,
                   is_integer = is_unsigned || type == int8 || type == int4;
        const auto meaning = dynamic_meaning({4}, {{"to", type}, {"scale_type", bfloat16}});
        const auto &q = meaning.statement;
        EXPECT_EQ(onnx::element_type_of(q.dst.type), type);
        EXPECT_EQ(q.scales.type, data_type::bf16);
        EXPECT_EQ(q.computed->range, is_unsigned ? scale_range::minmax : scale_range::absmax);
        EXPECT_EQ(q.computed->narrow, is_integer && !is_unsigned);
        EXPECT_EQ(q.saturate, !is_integer);
        EXPECT_EQ(q.zero_points.has_value(), is_unsigned);
        ASSERT_EQ(meaning.outputs.size(), 3U);
        EXPECT_EQ(meaning.outputs.at(0).type, type);
        EXPECT_EQ(meaning.outputs.at(1).type, bfloat16);
        EXPECT_EQ(meaning.outputs.at(2).type, type);
        if (is_integer) {
            const auto asymmetric = dynamic_meaning({4}, {{"to", type}, {"symmetric", 0}});
            EXPECT_EQ(asymmetric.statement.computed, presets::onnx());
        }
    }
}

TEST(onnx_lowering, rules_have_names) {
    const auto rule_of = [](const char *name, onnx::element_type y, onnx::element_type scale) {
        const auto q = dynamic_meaning({4}, {{"to", y}, {"scale_type", scale}, text_attribute("rule", name)}).statement;
        EXPECT_EQ(q.zero_points.has_value(), q.computed->range == scale_range::minmax) << name;
        EXPECT_EQ(q.dst.type, onnx::data_type_of(y)) << name;
        EXPECT_EQ(q.scales.type, onnx::data_type_of(scale)) << name;
        EXPECT_EQ(q.saturate, y != int8 && y != uint4) << name;
        return q.computed;
    };
    EXPECT_EQ(rule_of("onnx", uint4, float16), presets::onnx());
    EXPECT_EQ(rule_of("onnx", int8, float32), presets::onnx());
    EXPECT_EQ(rule_of("onednn_dynamic_quantize", int8, float32), presets::onednn_dynamic_quantize());
    EXPECT_EQ(rule_of("mx_floor", float8e4m3fn, float8e8m0), presets::mx(scale_rounding::floor));
    EXPECT_EQ(rule_of("mx_ceil", float8e5m2, float8e8m0), presets::mx(scale_rounding::ceil));
    EXPECT_EQ(rule_of("mx_even", float6e2m3, float8e8m0), presets::mx(scale_rounding::even));
    EXPECT_EQ(rule_of("mx_rceil", int8, float8e8m0), presets::mx(scale_rounding::rceil));
    EXPECT_EQ(rule_of("nvfp4", float4e2m1, float8e4m3fn), presets::nvfp4());
    EXPECT_EQ(rule_of("onednn_dynamic_fp", float4e2m1, float8e4m3fn), presets::onednn_dynamic_fp());
    EXPECT_EQ(rule_of("torchao_symmetric", int8, bfloat16), presets::torchao_symmetric());
    EXPECT_EQ(rule_of("torchao_asymmetric", int8, float32), presets::torchao_asymmetric());
    EXPECT_EQ(rule_of("ggml_q8_0", int8, float16), presets::ggml_q8_0());
    EXPECT_EQ(rule_of("vllm", int8, float32), presets::vllm());
    EXPECT_EQ(rule_of("", float4e2m1, float8e8m0), presets::mx(scale_rounding::floor));
    EXPECT_EQ(rule_of("", float4e2m1, float8e4m3fn), presets::nvfp4());
    EXPECT_EQ(rule_of("", float4e2m1, float16), scale_rule());
}

} // namespace
} // namespace dynquant::test
