// dynquant::onnx refuses a node that breaks a rule of ONNX's specification, wrong options and missing buffers.
#include "support/onnx.hpp"
#include "support/fails.hpp"

namespace dynquant::test {
namespace {

using namespace tensor_proto;

/// How messages about this node begin.
std::string named(const onnx::node &n) {
    return "node '" + n.name + "' (" + (n.domain.empty() ? "" : n.domain + '.') + n.op_type + ", opset "
            + std::to_string(n.opset) + "): ";
}

testing::AssertionResult refused(const onnx::node &n, dnnl_status_t status, const std::string &message) {
    return fails([&] { onnx::lower(n); }, status, named(n) + message);
}

/// A valid per-tensor node, for a test to change.
onnx::node right_quantize(std::int64_t opset, std::vector<onnx::attribute> attributes = {}) {
    return quantize_linear(opset, {{float32, {2, 3}}, {float32, {}}, {uint8, {}}}, std::move(attributes));
}

TEST(onnx_refusals, operators_domains_and_opsets) {
    auto n = right_quantize(21);
    n.op_type = "QuantiseLinear";
    EXPECT_TRUE(refused(n, dnnl_unimplemented,
            "operator: expected QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear, given 'QuantiseLinear' (did "
            "you mean 'QuantizeLinear'?)"));
    n = right_quantize(1);
    n.domain = "com.amd.quark";
    EXPECT_TRUE(refused(n, dnnl_unimplemented,
            "operator: expected ExtendedQuantizeLinear or ExtendedDequantizeLinear, given 'QuantizeLinear'"));
    n.domain = "com.amd.quartz";
    n.name = "";
    EXPECT_TRUE(fails([&] { onnx::lower(n); }, dnnl_unimplemented,
            "node (com.amd.quartz.QuantizeLinear, opset 1): domain: expected '', 'ai.onnx', 'com.amd.quark' or "
            "'dynquant', given 'com.amd.quartz' (did you mean 'com.amd.quark'?)"));
    n.domain = "com.microsoft";
    EXPECT_TRUE(fails([&] { onnx::lower(n); }, dnnl_unimplemented,
            "node (com.microsoft.QuantizeLinear, opset 1): domain: expected '', 'ai.onnx', 'com.amd.quark' or "
            "'dynquant', given 'com.microsoft'"));
    EXPECT_TRUE(refused(right_quantize(9), dnnl_unimplemented, "opset: expected 10 to 28, given 9"));
    EXPECT_TRUE(refused(right_quantize(29), dnnl_unimplemented, "opset: expected 10 to 28, given 29"));
    EXPECT_TRUE(refused(make_node("DynamicQuantizeLinear", 10, {{float32, {}}}), dnnl_unimplemented,
            "opset: expected 11 to 28, given 10"));
    n = quark("ExtendedQuantizeLinear", {{float32, {}}, {float32, {}}});
    n.opset = 2;
    EXPECT_TRUE(refused(n, dnnl_unimplemented, "opset: expected 1 to 1, given 2"));
}

TEST(onnx_refusals, attributes) {
    constexpr auto status = dnnl_invalid_arguments;
    EXPECT_TRUE(refused(
            right_quantize(10, {{"axis", 1}}), status, "attribute 'axis': expected opset 13 or newer, given opset 10"));
    EXPECT_TRUE(refused(right_quantize(21, {{"precision", 1}}), status,
            "attribute 'precision': expected opset 23 or newer, given opset 21"));
    EXPECT_TRUE(refused(right_quantize(10, {{"axes", 1}}), status, "attributes: expected none, given 'axes'"));
    EXPECT_TRUE(refused(right_quantize(19, {{"saturated", 1}}), status,
            "attributes: expected axis or saturate, given 'saturated' (did you mean 'saturate'?)"));
    EXPECT_TRUE(refused(right_quantize(28, {{"blocksize", 1}}), status,
            "attributes: expected axis, saturate, block_size, output_dtype or precision, given 'blocksize' (did you "
            "mean 'block_size'?)"));
    EXPECT_TRUE(refused(right_quantize(13, {{"axis", 0}, {"axis", 0}}), status,
            "attribute 'axis': expected it once, given it more often"));
    EXPECT_TRUE(
            refused(right_quantize(13, {{"axis", 0, 1}}), status, "attribute 'axis': expected type INT, given FLOAT"));
    EXPECT_TRUE(refused(
            right_quantize(13, {{"axis", 0, 77}}), status, "attribute 'axis': expected type INT, given type 77"));
    EXPECT_TRUE(
            refused(right_quantize(19, {{"saturate", 2}}), status, "attribute 'saturate': expected 0 or 1, given 2"));
    EXPECT_TRUE(refused(
            right_quantize(21, {{"block_size", -1}}), status, "attribute 'block_size': expected 0 or more, given -1"));
}

TEST(onnx_refusals, attributes_of_computed_scales) {
    const auto wrong = [](std::vector<onnx::attribute> attributes, dnnl_status_t status, const std::string &message,
                               const dims &extents = {2, 3}) {
        return refused(dynamic_quantize_linear({float32, extents}, std::move(attributes)), status, message);
    };
    constexpr auto arguments = dnnl_invalid_arguments, types = dnnl_invalid_data_type;
    EXPECT_TRUE(wrong(
            {{"axis", 2}}, arguments, "attribute 'axis': expected a value in [-2, 1] for x of shape [2, 3], given 2"));
    EXPECT_TRUE(wrong({{"axis", INT64_MIN}, {"block_size", 1}}, arguments,
            "attribute 'axis': expected a value in [-2, 1] for x of shape [2, 3], given -9223372036854775808"));
    EXPECT_TRUE(wrong({{"axis", 0}}, arguments,
            "attribute 'axis': expected no scale along an axis for x of shape [], given 0", {}));
    EXPECT_TRUE(
            wrong({{"block_size", 4}}, arguments, "attribute 'axis': expected one beside block_size 4, given none"));
    EXPECT_TRUE(wrong(
            {{"axis", 0}, {"block_size", -1}}, arguments, "attribute 'block_size': expected 0 or more, given -1"));
    EXPECT_TRUE(wrong({{"symmetric", 2}}, arguments, "attribute 'symmetric': expected 0 or 1, given 2"));
    EXPECT_TRUE(wrong({{"symmetric", 1}}, arguments, "attribute 'symmetric': expected 0 for y of type uint8, given 1"));
    EXPECT_TRUE(wrong({{"to", float8e5m2}, {"symmetric", 0}}, arguments,
            "attribute 'symmetric': expected 1 for y of type float8e5m2, given 0"));
    EXPECT_TRUE(wrong({{"to", int16}}, types,
            "attribute 'to': expected uint8, int8, float8e4m3fn, float8e5m2, uint4, int4, float4e2m1, float6e2m3 or "
            "float6e3m2, given int16"));
    EXPECT_TRUE(wrong({{"to", 0}}, types,
            "attribute 'to': expected uint8, int8, float8e4m3fn, float8e5m2, uint4, int4, float4e2m1, float6e2m3 or "
            "float6e3m2, given undefined"));
    EXPECT_TRUE(wrong({{"to", int16}, {"symmetric", 0}}, types,
            "attribute 'to': expected uint8, int8, uint4 or int4, given int16"));
    EXPECT_TRUE(wrong({{"to", int16}, {"symmetric", 1}}, types,
            "attribute 'to': expected int8, float8e4m3fn, float8e5m2, int4, float4e2m1, float6e2m3 or float6e3m2, "
            "given int16"));
    EXPECT_TRUE(wrong({{"to", int16}, text_attribute("rule", "vllm")}, types,
            "attribute 'to': expected int8 or int4, given int16"));
    EXPECT_TRUE(wrong({{"scale_type", (1LL << 32) + 1}}, types,
            "attribute 'scale_type': expected float, float16 or bfloat16, given type 4294967297"));
    EXPECT_TRUE(wrong({{"scale_type", double64}, {"to", int8}}, types,
            "attribute 'scale_type': expected float, float16, bfloat16, float8e4m3fn or float8e8m0, given double"));
    EXPECT_TRUE(wrong({{"scale_type", double64}, {"to", int8}, {"symmetric", 0}}, types,
            "attribute 'scale_type': expected float, float16 or bfloat16, given double"));
    EXPECT_TRUE(wrong({{"scale_type", double64}, {"to", int8}, text_attribute("rule", "mx_even")}, types,
            "attribute 'scale_type': expected float8e8m0, given double"));
    EXPECT_TRUE(wrong({{"scale_type", float8e8m0}}, types,
            "attribute 'scale_type': expected float, float16 or bfloat16 where 'symmetric' is 0, given float8e8m0"));
    EXPECT_TRUE(wrong({text_attribute("rule", "mx_floor"), {"to", int8}}, arguments,
            "attribute 'rule': expected absmax, minmax, onnx, onednn_dynamic_quantize, onednn_dynamic_fp, nvfp4, "
            "torchao_symmetric, torchao_asymmetric, ggml_q8_0 or vllm for y of type int8 and y_scale of type float, "
            "given 'mx_floor'"));
    EXPECT_TRUE(wrong({text_attribute("rule", "mx_flour"), {"to", int8}, {"scale_type", float8e8m0}}, arguments,
            "attribute 'rule': expected mx_floor, mx_ceil, mx_even or mx_rceil for y of type int8 and y_scale of type "
            "float8e8m0, given 'mx_flour' (did you mean 'mx_floor'?)"));
    EXPECT_TRUE(wrong({text_attribute("rule", "mx_floor"), {"to", int8}, {"symmetric", 0}}, arguments,
            "attribute 'rule': expected minmax, onnx or torchao_asymmetric for y of type int8 and y_scale of type "
            "float where 'symmetric' is 0, given 'mx_floor'"));
    EXPECT_TRUE(wrong({text_attribute("rule", "vllm"), {"to", float8e5m2}, {"symmetric", 0}}, arguments,
            "attribute 'symmetric': expected 1 for y of type float8e5m2, given 0"));
    EXPECT_TRUE(wrong({text_attribute("rule", "mx_floor"), {"scale_type", float8e8m0}}, types,
            "attribute 'scale_type': expected float, float16 or bfloat16 where 'symmetric' is 0, given float8e8m0"));
    EXPECT_TRUE(wrong({text_attribute("rule", "onnx"), {"to", int8}, {"symmetric", 1}}, arguments,
            "attribute 'symmetric': expected 0 beside rule 'onnx', given 1"));
    EXPECT_TRUE(wrong({{"rule", 1}}, arguments, "attribute 'rule': expected type STRING, given INT"));
    EXPECT_TRUE(wrong({text_attribute("to", "int8")}, arguments, "attribute 'to': expected type INT, given STRING"));
    EXPECT_TRUE(wrong({{"saturate", 1}}, arguments,
            "attributes: expected axis, block_size, to, scale_type, symmetric or rule, given 'saturate'"));
}

TEST(onnx_refusals, others_of_computed_scales) {
    EXPECT_TRUE(refused(dynamic_quantize_linear({int32, {4}}), dnnl_invalid_data_type,
            "x: expected type float, float16 or bfloat16, given int32"));
    auto n = dynamic_quantize_linear({float32, {4}});
    n.inputs.push_back({float32, {}});
    EXPECT_TRUE(refused(n, dnnl_invalid_arguments, "inputs: expected x, given 2 inputs"));
    n = dynamic_quantize_linear({float32, {4}});
    n.opset = 2;
    EXPECT_TRUE(refused(n, dnnl_unimplemented, "opset: expected 1 to 1, given 2"));
    n.op_type = "Round";
    EXPECT_TRUE(refused(n, dnnl_unimplemented, "operator: expected DynamicQuantizeLinear, given 'Round'"));
    // x has no elements, but y_scale has too many.
    EXPECT_TRUE(refused(dynamic_quantize_linear({float32, {0, INT64_MAX}}, {{"axis", 1}}), dnnl_invalid_shape,
            "y_scale: expected at most 2^58 elements, given shape [9223372036854775807]"));
}

TEST(onnx_refusals, attributes_that_name_types) {
    constexpr auto status = dnnl_invalid_data_type;
    EXPECT_TRUE(refused(right_quantize(23, {{"precision", double64}}), status,
            "attribute 'precision': expected float, float16 or bfloat16, given double"));
    EXPECT_TRUE(refused(right_quantize(21, {{"output_dtype", 99}}), status,
            "attribute 'output_dtype': expected uint8, int8, uint16, int16, float8e4m3fn, float8e4m3fnuz, float8e5m2, "
            "float8e5m2fnuz, uint4 or int4, given type 99"));
    EXPECT_TRUE(refused(right_quantize(21, {{"output_dtype", float4e2m1}}), status,
            "attribute 'output_dtype': expected uint8, int8, uint16, int16, float8e4m3fn, float8e4m3fnuz, float8e5m2, "
            "float8e5m2fnuz, uint4 or int4, given float4e2m1, which opset 23 allows"));
    EXPECT_TRUE(refused(right_quantize(21, {{"output_dtype", int8}}), status,
            "attribute 'output_dtype': expected the type of y_zero_point, uint8, given int8"));
    // 2^32 + 1 is not FLOAT's 1.
    EXPECT_TRUE(refused(dequantize_linear(23, {{uint8, {}}, {float32, {}}}, {{"output_dtype", (1LL << 32) + 1}}),
            status, "attribute 'output_dtype': expected float, float16 or bfloat16, given type 4294967297"));
    EXPECT_TRUE(refused(right_quantize(23, {{"precision", INT64_MIN}}), status,
            "attribute 'precision': expected float, float16 or bfloat16, given type -9223372036854775808"));
    EXPECT_TRUE(refused(dequantize_linear(24, {{uint8, {}}, {float8e8m0, {}}}), dnnl_invalid_arguments,
            "attribute 'output_dtype': expected float, float16 or bfloat16 beside x_scale of type float8e8m0, given "
            "none"));
}

TEST(onnx_refusals, number_of_inputs) {
    constexpr auto status = dnnl_invalid_arguments;
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {}}}), status,
            "inputs: expected x, y_scale and perhaps y_zero_point, given 1 input"));
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {}}, {float32, {}}, {uint8, {}}, {}}), status,
            "inputs: expected x, y_scale and perhaps y_zero_point, given 4 inputs"));
    EXPECT_TRUE(refused(make_node("DynamicQuantizeLinear", 11, {}), status, "inputs: expected x, given 0 inputs"));
    EXPECT_TRUE(refused(
            dequantize_linear(13, {{uint8, {}}, {}}), status, "x_scale: expected an input of type float, given none"));
    EXPECT_TRUE(refused(quantize_linear(13, {{}, {float32, {}}}), status,
            "x: expected an input of type float or int32, given none"));
}

TEST(onnx_refusals, types_of_inputs) {
    constexpr auto status = dnnl_invalid_data_type;
    EXPECT_TRUE(refused(quantize_linear(13, {{float16, {}}, {float32, {}}}), status,
            "x: expected type float or int32, given float16, which opset 19 allows"));
    EXPECT_TRUE(refused(quantize_linear(28, {{double64, {}}, {float32, {}}}), status,
            "x: expected type float, int32, float16 or bfloat16, given double"));
    EXPECT_TRUE(refused(quantize_linear(19, {{float16, {}}, {float32, {}}}), status,
            "y_scale: expected the type of x, float16, given float"));
    EXPECT_TRUE(refused(quantize_linear(23, {{float16, {}}, {float8e8m0, {}}}), status,
            "y_scale: expected type float, int32, float16 or bfloat16, given float8e8m0, which opset 24 allows"));
    // The direct API has scales of f8_e4m3, ONNX has none.
    EXPECT_TRUE(refused(quantize_linear(28, {{float32, {}}, {float8e4m3fn, {}}}), status,
            "y_scale: expected type float, int32, float16, bfloat16 or float8e8m0, given float8e4m3fn"));
    EXPECT_TRUE(refused(dequantize_linear(28, {{float4e2m1, {}}, {float8e4m3fn, {}}}), status,
            "x_scale: expected type float, float16, bfloat16 or float8e8m0, given float8e4m3fn"));
    EXPECT_TRUE(refused(quantize_linear(19, {{float32, {}}, {float32, {}}, {int4, {}}}), status,
            "y_zero_point: expected type uint8, int8, float8e4m3fn, float8e4m3fnuz, float8e5m2 or float8e5m2fnuz, "
            "given int4, which opset 21 allows"));
    EXPECT_TRUE(refused(dequantize_linear(10, {{int8, {}}, {float32, {}}, {uint8, {}}}), status,
            "x_zero_point: expected the type of x, int8, given uint8"));
    EXPECT_TRUE(refused(dequantize_linear(28, {{int64, {}}, {float32, {}}}), status,
            "x: expected type uint8, int8, uint16, int16, int32, float8e4m3fn, float8e4m3fnuz, float8e5m2, "
            "float8e5m2fnuz, uint4, int4, float4e2m1, uint2, int2, float6e2m3 or float6e3m2, given int64"));
    EXPECT_TRUE(refused(
            make_node("DynamicQuantizeLinear", 11, {{float16, {}}}), status, "x: expected type float, given float16"));
    EXPECT_TRUE(refused(quark("ExtendedQuantizeLinear", {{float16, {}}, {float32, {}}}), status,
            "x: expected type float, given float16"));
}

TEST(onnx_refusals, axis_out_of_range) {
    constexpr auto status = dnnl_invalid_arguments;
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {2, 3}}, {float32, {3}}}, {{"axis", 2}}), status,
            "attribute 'axis': expected a value in [-2, 1] for x of shape [2, 3] and y_scale of shape [3], given 2"));
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {5}}, {float32, {5}}}), status,
            "attribute 'axis': expected a value in [-1, 0] for x of shape [5] and y_scale of shape [5], given 1"));
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {}}, {float32, {5}}}, {{"axis", 0}}), status,
            "attribute 'axis': expected no scale along an axis for x of shape [] and y_scale of shape [5], given 0"));
    EXPECT_TRUE(refused(quantize_linear(21, {{float32, {2, 3}}, {float32, {2, 2}}}, {{"axis", -3}, {"block_size", 2}}),
            status,
            "attribute 'axis': expected a value in [-2, 1] for x of shape [2, 3] and y_scale of shape [2, 2], given "
            "-3"));
}

TEST(onnx_refusals, shapes_of_scale_and_zero_point) {
    constexpr auto status = dnnl_invalid_shape;
    const auto with_shapes = [](std::int64_t opset, dims x, dims scale, std::optional<dims> zero_point = {},
                                     std::vector<onnx::attribute> attributes = {}) {
        std::vector<onnx::value> inputs = {{float32, std::move(x)}, {float32, std::move(scale)}};
        if (zero_point) inputs.push_back({uint8, std::move(*zero_point)});
        return quantize_linear(opset, std::move(inputs), std::move(attributes));
    };
    EXPECT_TRUE(refused(
            with_shapes(10, {2, 3}, {3}), status, "y_scale: expected one value before opset 13, given shape [3]"));
    EXPECT_TRUE(refused(with_shapes(13, {2, 3}, {2}), status,
            "y_scale: expected one value, or 3 for axis 1 of x of shape [2, 3], given shape [2]"));
    EXPECT_TRUE(refused(with_shapes(13, {2, 3}, {2, 3}), status,
            "y_scale: expected one value or a 1-D tensor, given shape [2, 3]"));
    EXPECT_TRUE(refused(with_shapes(21, {2, 3}, {2, 3}), status,
            "y_scale: expected one value or a 1-D tensor where attribute 'block_size' is 0, given shape [2, 3]"));
    EXPECT_TRUE(refused(with_shapes(21, {2, 3}, {3}, {}, {{"block_size", 2}}), status,
            "y_scale: expected one value, or the rank of x of shape [2, 3] where attribute 'block_size' is 2, given "
            "shape [3]"));
    EXPECT_TRUE(refused(with_shapes(21, {2, 7}, {2, 2}, {}, {{"block_size", 3}}), status,
            "y_scale: expected shape [2, 3] for x of shape [2, 7] in blocks of 3 along axis 1, given shape [2, 2]"));
    EXPECT_TRUE(refused(with_shapes(21, {2, 7}, {1, 3}, {}, {{"block_size", 3}}), status,
            "y_scale: expected shape [2, 3] for x of shape [2, 7] in blocks of 3 along axis 1, given shape [1, 3]"));
    EXPECT_TRUE(refused(with_shapes(13, {2, 3}, {3}, dims {2}), status,
            "y_zero_point: expected the shape of y_scale, [3], given [2]"));
    EXPECT_TRUE(refused(with_shapes(13, {2, 3}, {}, dims {1, 1}), status,
            "y_zero_point: expected the shape of y_scale, [], given [1, 1]"));
}

TEST(onnx_refusals, shapes_that_no_tensor_has) {
    constexpr auto status = dnnl_invalid_shape;
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {2, -1}}, {float32, {}}}), status,
            "x: expected extents of 0 or more, given shape [2, -1]"));
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {2}}, {float32, {-1}}}), status,
            "y_scale: expected extents of 0 or more, given shape [-1]"));
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {2}}, {float32, {}}, {uint8, {-1}}}), status,
            "y_zero_point: expected extents of 0 or more, given shape [-1]"));
    EXPECT_TRUE(refused(quantize_linear(13, {{float32, {1LL << 40, 1LL << 40}}, {float32, {}}}), status,
            "x: expected at most 2^58 elements, given shape [1099511627776, 1099511627776]"));
}

TEST(onnx_refusals, names_that_cannot_be_printed) {
    using namespace std::string_literals;
    auto n = right_quantize(28, {{"ax\0is"s, 1}});
    n.name = "a\0b"s;
    EXPECT_TRUE(fails([&] { onnx::lower(n); }, dnnl_invalid_arguments,
            "node 'a\\x00b' (QuantizeLinear, opset 28): attributes: expected axis, saturate, block_size, output_dtype "
            "or precision, given 'ax\\x00is' (did you mean 'axis'?)"));
    n.domain = "x\n"s;
    EXPECT_TRUE(fails([&] { onnx::lower(n); }, dnnl_unimplemented,
            "node 'a\\x00b' (x\\x0a.QuantizeLinear, opset 28): domain: expected '', 'ai.onnx', 'com.amd.quark' or "
            "'dynquant', given 'x\\x0a'"));
}

TEST(onnx_refusals, shapes_are_not_looked_at_for_types) {
    const auto n = quantize_linear(13, {{float32, {2, 3}}, {float32, {7}}});
    EXPECT_EQ(onnx::output_types(n), (std::vector<onnx::element_type> {uint8}));
}

TEST(onnx_refusals, buffers) {
    const auto op = onnx::prepare(quantize_linear(13, {{float32, {1}}, {float32, {}}, {uint8, {}}}));
    const float x = 1, scale = 1;
    const std::uint8_t zero_point = 0;
    std::uint8_t y = 77;
    const auto refuses = [&](const onnx::arguments &args, const std::string &name) {
        return fails([&] { op.run(args); }, dnnl_invalid_arguments,
                named(right_quantize(13)) + name + ": expected a buffer, given a null pointer");
    };
    EXPECT_TRUE(refuses({nullptr, &scale, &zero_point, &y}, "x"));
    EXPECT_TRUE(refuses({&x, nullptr, &zero_point, &y}, "scale"));
    EXPECT_TRUE(refuses({&x, &scale, nullptr, &y}, "zero_point"));
    EXPECT_TRUE(refuses({&x, &scale, &zero_point, nullptr}, "y"));
    EXPECT_EQ(y, 77);
    EXPECT_NO_THROW(onnx::prepare(quantize_linear(13, {{float32, {0}}, {float32, {}}})).run({}));
}

TEST(onnx_refusals, options) {
    const auto refuses = [](const options &opts, const std::string &message) {
        const auto n = right_quantize(13);
        return fails([&] { onnx::prepare(n, opts); }, dnnl_invalid_arguments, named(n) + message);
    };
    EXPECT_TRUE(refuses({.threads = -5}, "threads: expected 0 or more, given -5"));
    EXPECT_TRUE(
            refuses({.max_isa = static_cast<isa>(77)}, "max_isa: expected scalar, avx2 or avx512, given number 77"));
}

TEST(onnx_refusals, an_empty_operation) {
    const onnx::operation empty;
    EXPECT_FALSE(empty);
    EXPECT_THROW(empty.run({}), error);
    EXPECT_THROW(empty.info(), error);
    EXPECT_THROW(empty.outputs(), error);
}

TEST(onnx_refusals, a_kernel_that_cannot) {
    // Only the beginning is compared, because kernels word their reasons.
    try {
        onnx::prepare(right_quantize(13), {kernel_kind::onednn, {}, 0, {}});
        FAIL() << "was taken";
    } catch (const error &e) {
        EXPECT_EQ(e.status, dnnl_unimplemented);
        EXPECT_EQ(std::string(e.message).substr(0, 47), "node 'q1' (QuantizeLinear, opset 13): kernel: '");
    }
}

} // namespace
} // namespace dynquant::test
