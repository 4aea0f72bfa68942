// dynquant::onnx refuses a node that breaks a rule of ONNX's specification, wrong options and missing buffers.
#include "support/onnx.hpp"
#include "names.hpp"

namespace dynquant::test {
namespace {

using namespace tensor_proto;

constexpr auto unimplemented = status::unimplemented;
constexpr auto bad_argument = status::invalid_arguments;
constexpr auto bad_type = status::invalid_data_type;
constexpr auto bad_shape = status::invalid_shape;

/// How messages about this node begin.
std::string named(const onnx::node &n) {
    return "node '" + n.name + "' (" + (n.domain.empty() ? "" : n.domain + '.') + n.op_type + ", opset "
            + std::to_string(n.opset) + "): ";
}

struct refused_node {
    onnx::node node;
    names message;
};
template <dynquant::status status>
void expect_refused(const std::vector<refused_node> &nodes) {
    for (const auto &[node, message] : nodes)
        EXPECT_TRUE(fails([&node = node] { onnx::lower(node); }, status, message, named(node)));
}

using attributes = std::vector<onnx::attribute>;

/// A valid per-tensor node, for a test to change.
onnx::node right_quantize(std::int64_t opset, attributes given = {}) {
    return quantize_linear(opset, {{float32, {2, 3}}, {float32, {}}, {uint8, {}}}, std::move(given));
}

/// A node with these types of scalars.
onnx::node quantize_of(std::int64_t opset, onnx::element_type x, onnx::element_type scale) {
    return quantize_linear(opset, {{x, {}}, {scale, {}}});
}
onnx::node dequantize_of(std::int64_t opset, onnx::element_type x, onnx::element_type scale, attributes given = {}) {
    return dequantize_linear(opset, {{x, {}}, {scale, {}}}, std::move(given));
}
onnx::node dynamic_of(attributes given, const dims &extents = {2, 3}) {
    return dynamic_quantize_linear({float32, extents}, std::move(given));
}

/// A valid node with another name of its operator, domain or version.
onnx::node as(onnx::node n, const std::string &op_type, const std::string &domain, std::int64_t opset) {
    n.op_type = op_type;
    n.domain = domain;
    n.opset = opset;
    return n;
}

TEST(onnx_refusals, operators_domains_and_opsets) {
    auto unnamed = as(right_quantize(1), "QuantizeLinear", "com.amd.quartz", 1);
    unnamed.name = "";
    EXPECT_TRUE(fails([&] { onnx::lower(unnamed); }, unimplemented,
            "node (com.amd.quartz.QuantizeLinear, opset 1): domain: expected '', 'ai.onnx', 'com.amd.quark' or "
            "'dynquant', given 'com.amd.quartz' (did you mean 'com.amd.quark'?)"));
    unnamed.domain = "com.microsoft";
    EXPECT_TRUE(fails([&] { onnx::lower(unnamed); }, unimplemented,
            names {"domain", "'com.amd.quark' or 'dynquant'", "'com.microsoft'"},
            "node (com.microsoft.QuantizeLinear, opset 1): "));
    const auto extended = quark("ExtendedQuantizeLinear", {{float32, {}}, {float32, {}}}), dynamic = dynamic_of({});
    expect_refused<unimplemented>({
            {as(right_quantize(21), "QuantiseLinear", "", 21),
                    {"operator", "QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear",
                            "'QuantiseLinear' (did you mean 'QuantizeLinear'?)"}},
            {as(right_quantize(1), "QuantizeLinear", "com.amd.quark", 1),
                    {"operator", "ExtendedQuantizeLinear or ExtendedDequantizeLinear", "'QuantizeLinear'"}},
            {right_quantize(9), {"opset", "10 to 28", "9"}},
            {right_quantize(29), {"opset", "10 to 28", "29"}},
            {make_node("DynamicQuantizeLinear", 10, {{float32, {}}}), {"opset", "11 to 28", "10"}},
            {as(extended, extended.op_type, extended.domain, 2), {"opset", "1 to 1", "2"}},
            {as(dynamic, dynamic.op_type, dynamic.domain, 2), {"opset", "1 to 1", "2"}},
            {as(dynamic, "Round", dynamic.domain, 2), {"operator", "DynamicQuantizeLinear", "'Round'"}},
    });
}

TEST(onnx_refusals, attributes) {
    expect_refused<bad_argument>({
            {right_quantize(10, {{"axis", 1}}), {"attribute 'axis'", "opset 13 or newer", "opset 10"}},
            {right_quantize(21, {{"precision", 1}}), {"attribute 'precision'", "opset 23 or newer", "opset 21"}},
            {right_quantize(10, {{"axes", 1}}), {"attributes", "none", "'axes'"}},
            {right_quantize(19, {{"saturated", 1}}),
                    {"attributes", "axis or saturate", "'saturated' (did you mean 'saturate'?)"}},
            {right_quantize(28, {{"blocksize", 1}}),
                    {"attributes", "axis, saturate, block_size, output_dtype or precision",
                            "'blocksize' (did you mean 'block_size'?)"}},
            {right_quantize(13, {{"axis", 0}, {"axis", 0}}), {"attribute 'axis'", "once", "it more often"}},
            {right_quantize(13, {{"axis", 0, 1}}), {"attribute 'axis'", "type INT", "FLOAT"}},
            {right_quantize(13, {{"axis", 0, 14}}), {"attribute 'axis'", "type INT", "TYPE_PROTOS"}},
            {right_quantize(13, {{"axis", 0, 15}}), {"attribute 'axis'", "type INT", "type 15"}},
            {right_quantize(13, {{"axis", 0, -1}}), {"attribute 'axis'", "type INT", "type -1"}},
            {right_quantize(13, {{"axis", 0, 77}}), {"attribute 'axis'", "type INT", "type 77"}},
            {right_quantize(19, {{"saturate", 2}}), {"attribute 'saturate'", "0 or 1", "2"}},
            {right_quantize(21, {{"block_size", -1}}), {"attribute 'block_size'", "0 or more", "-1"}},
            {dequantize_of(24, uint8, float8e8m0),
                    {"attribute 'output_dtype'", "bfloat16 beside x_scale of type float8e8m0", "none"}},
    });
}

TEST(onnx_refusals, attributes_of_computed_scales) {
    const std::string axis = "attribute 'axis'", symmetric = "attribute 'symmetric'", to = "attribute 'to'",
                      scale_type = "attribute 'scale_type'", rule = "attribute 'rule'";
    const std::string all = "uint8, int8, float8e4m3fn, float8e5m2, uint4, int4, float4e2m1, float6e2m3 or float6e3m2";
    const auto with_rule = [](const char *name, attributes others) {
        others.push_back(text_attribute("rule", name));
        return dynamic_of(std::move(others));
    };
    expect_refused<bad_argument>({
            {dynamic_of({{"axis", 2}}), {axis, "a value in [-2, 1] for x of shape [2, 3]", "2"}},
            {dynamic_of({{"axis", INT64_MIN}, {"block_size", 1}}),
                    {axis, "a value in [-2, 1]", "-9223372036854775808"}},
            {dynamic_of({{"axis", 0}}, {}), {axis, "no scale along an axis for x of shape []", "0"}},
            {dynamic_of({{"block_size", 4}}), {axis, "one beside block_size 4", "none"}},
            {dynamic_of({{"axis", 0}, {"block_size", -1}}), {"attribute 'block_size'", "0 or more", "-1"}},
            {dynamic_of({{"symmetric", 2}}), {symmetric, "0 or 1", "2"}},
            {dynamic_of({{"symmetric", 1}}), {symmetric, "0 for y of type uint8", "1"}},
            {dynamic_of({{"to", float8e5m2}, {"symmetric", 0}}), {symmetric, "1 for y of type float8e5m2", "0"}},
            {with_rule("mx_floor", {{"to", int8}}),
                    {rule, "ggml_q8_0 or vllm for y of type int8 and y_scale of type float", "'mx_floor'"}},
            {with_rule("mx_flour", {{"to", int8}, {"scale_type", float8e8m0}}),
                    {rule,
                            "mx_floor, mx_ceil, mx_even or mx_rceil for y of type int8 and y_scale of type "
                            "float8e8m0",
                            "'mx_flour' (did you mean 'mx_floor'?)"}},
            {with_rule("mx_floor", {{"to", int8}, {"symmetric", 0}}),
                    {rule, "minmax, onnx or torchao_asymmetric for y of type int8", "'mx_floor'"}},
            {with_rule("vllm", {{"to", float8e5m2}, {"symmetric", 0}}), {symmetric, "1 for y of type float8e5m2", "0"}},
            {with_rule("onnx", {{"to", int8}, {"symmetric", 1}}), {symmetric, "0 beside rule 'onnx'", "1"}},
            {dynamic_of({{"rule", 1}}), {rule, "type STRING", "INT"}},
            {dynamic_of({text_attribute("to", "int8")}), {to, "type INT", "STRING"}},
            {dynamic_of({{"saturate", 1}}),
                    {"attributes", "axis, block_size, to, scale_type, symmetric or rule", "'saturate'"}},
    });
    expect_refused<bad_type>({
            {dynamic_of({{"to", int16}}), {to, all, "int16"}},
            {dynamic_of({{"to", 0}}), {to, all, "undefined"}},
            {dynamic_of({{"to", int16}, {"symmetric", 0}}), {to, "uint8, int8, uint4 or int4", "int16"}},
            {dynamic_of({{"to", int16}, {"symmetric", 1}}),
                    {to, "int8, float8e4m3fn, float8e5m2, int4, float4e2m1, float6e2m3 or float6e3m2", "int16"}},
            {with_rule("vllm", {{"to", int16}}), {to, "int8 or int4", "int16"}},
            {dynamic_of({{"scale_type", (1LL << 32) + 1}}),
                    {scale_type, "float, float16 or bfloat16", "type 4294967297"}},
            {dynamic_of({{"scale_type", double64}, {"to", int8}}),
                    {scale_type, "float, float16, bfloat16, float8e4m3fn or float8e8m0", "double"}},
            {dynamic_of({{"scale_type", double64}, {"to", int8}, {"symmetric", 0}}),
                    {scale_type, "float, float16 or bfloat16", "double"}},
            {with_rule("mx_even", {{"scale_type", double64}, {"to", int8}}), {scale_type, "float8e8m0", "double"}},
            {dynamic_of({{"scale_type", float8e8m0}}),
                    {scale_type, "float, float16 or bfloat16 where 'symmetric' is 0", "float8e8m0"}},
            {with_rule("mx_floor", {{"scale_type", float8e8m0}}),
                    {scale_type, "float, float16 or bfloat16 where 'symmetric' is 0", "float8e8m0"}},
    });
}

TEST(onnx_refusals, attributes_that_name_types) {
    const std::string output = "attribute 'output_dtype'", precision = "attribute 'precision'",
                      floats = "float, float16 or bfloat16",
                      codes = "uint8, int8, uint16, int16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, "
                              "uint4 or int4";
    expect_refused<bad_type>({
            {right_quantize(23, {{"precision", double64}}), {precision, floats, "double"}},
            {right_quantize(21, {{"output_dtype", 99}}), {output, codes, "type 99"}},
            {right_quantize(21, {{"output_dtype", float4e2m1}}), {output, codes, "float4e2m1, which opset 23 allows"}},
            {right_quantize(21, {{"output_dtype", int8}}), {output, "the type of y_zero_point, uint8", "int8"}},
            // 2^32 + 1 is not FLOAT's 1.
            {dequantize_of(23, uint8, float32, {{"output_dtype", (1LL << 32) + 1}}),
                    {output, floats, "type 4294967297"}},
            {right_quantize(23, {{"precision", INT64_MIN}}), {precision, floats, "type -9223372036854775808"}},
    });
}

TEST(onnx_refusals, number_of_inputs) {
    auto two = dynamic_of({});
    two.inputs.push_back({float32, {}});
    expect_refused<bad_argument>({
            {quantize_linear(13, {{float32, {}}}), {"inputs", "x, y_scale and perhaps y_zero_point", "1 input"}},
            {quantize_linear(13, {{float32, {}}, {float32, {}}, {uint8, {}}, {}}),
                    {"inputs", "x, y_scale and perhaps y_zero_point", "4 inputs"}},
            {make_node("DynamicQuantizeLinear", 11, {}), {"inputs", "x", "0 inputs"}},
            {two, {"inputs", "x", "2 inputs"}},
            {dequantize_linear(13, {{uint8, {}}, {}}), {"x_scale", "an input of type float", "none"}},
            {quantize_linear(13, {{}, {float32, {}}}), {"x", "an input of type float or int32", "none"}},
    });
}

TEST(onnx_refusals, types_of_inputs) {
    expect_refused<bad_type>({
            {dynamic_quantize_linear({int32, {4}}), {"x", "float, float16 or bfloat16", "int32"}},
            {quantize_of(13, float16, float32), {"x", "float or int32", "float16, which opset 19 allows"}},
            {quantize_of(28, double64, float32), {"x", "float, int32, float16 or bfloat16", "double"}},
            {quantize_of(19, float16, float32), {"y_scale", "the type of x, float16", "float"}},
            {quantize_of(23, float16, float8e8m0),
                    {"y_scale", "float, int32, float16 or bfloat16", "float8e8m0, which opset 24 allows"}},
            // The direct API has scales of f8_e4m3, ONNX has none.
            {quantize_of(28, float32, float8e4m3fn),
                    {"y_scale", "float, int32, float16, bfloat16 or float8e8m0", "float8e4m3fn"}},
            {dequantize_of(28, float4e2m1, float8e4m3fn),
                    {"x_scale", "float, float16, bfloat16 or float8e8m0", "float8e4m3fn"}},
            {quantize_linear(19, {{float32, {}}, {float32, {}}, {int4, {}}}),
                    {"y_zero_point", "uint8, int8, float8e4m3fn, float8e4m3fnuz, float8e5m2 or float8e5m2fnuz",
                            "int4, which opset 21 allows"}},
            {dequantize_linear(10, {{int8, {}}, {float32, {}}, {uint8, {}}}),
                    {"x_zero_point", "the type of x, int8", "uint8"}},
            {dequantize_of(28, int64, float32),
                    {"x",
                            "uint8, int8, uint16, int16, int32, float8e4m3fn, float8e4m3fnuz, float8e5m2, "
                            "float8e5m2fnuz, uint4, int4, float4e2m1, uint2, int2, float6e2m3 or float6e3m2",
                            "int64"}},
            {make_node("DynamicQuantizeLinear", 11, {{float16, {}}}), {"x", "float", "float16"}},
            {quark("ExtendedQuantizeLinear", {{float16, {}}, {float32, {}}}), {"x", "float", "float16"}},
    });
}

TEST(onnx_refusals, axis_out_of_range) {
    const auto with = [](std::int64_t opset, const dims &x, const dims &scale, attributes given = {}) {
        return quantize_linear(opset, {{float32, x}, {float32, scale}}, std::move(given));
    };
    const std::string axis = "attribute 'axis'";
    expect_refused<bad_argument>({
            {with(13, {2, 3}, {3}, {{"axis", 2}}),
                    {axis, "a value in [-2, 1] for x of shape [2, 3] and y_scale of shape [3]", "2"}},
            {with(13, {5}, {5}), {axis, "a value in [-1, 0] for x of shape [5]", "1"}},
            {with(13, {}, {5}, {{"axis", 0}}), {axis, "no scale along an axis for x of shape []", "0"}},
            {with(21, {2, 3}, {2, 2}, {{"axis", -3}, {"block_size", 2}}),
                    {axis, "a value in [-2, 1] for x of shape [2, 3] and y_scale of shape [2, 2]", "-3"}},
    });
}

TEST(onnx_refusals, shapes_of_scale_and_zero_point) {
    const auto with = [](std::int64_t opset, const dims &x, const dims &scale, std::optional<dims> zero_point = {},
                              attributes given = {}) {
        std::vector<onnx::value> inputs = {{float32, x}, {float32, scale}};
        if (zero_point) inputs.push_back({uint8, *zero_point});
        return quantize_linear(opset, std::move(inputs), std::move(given));
    };
    const std::string in_blocks = "shape [2, 3] for x of shape [2, 7] in blocks of 3 along axis 1";
    expect_refused<bad_shape>({
            {with(10, {2, 3}, {3}), {"y_scale", "one value before opset 13", "shape [3]"}},
            {with(13, {2, 3}, {2}), {"y_scale", "3 for axis 1 of x of shape [2, 3]", "shape [2]"}},
            {with(13, {2, 3}, {2, 3}), {"y_scale", "one value or a 1-D tensor", "shape [2, 3]"}},
            {with(21, {2, 3}, {2, 3}), {"y_scale", "where attribute 'block_size' is 0", "shape [2, 3]"}},
            {with(21, {2, 3}, {3}, {}, {{"block_size", 2}}),
                    {"y_scale", "the rank of x of shape [2, 3] where attribute 'block_size' is 2", "shape [3]"}},
            {with(21, {2, 7}, {2, 2}, {}, {{"block_size", 3}}), {"y_scale", in_blocks, "shape [2, 2]"}},
            {with(21, {2, 7}, {1, 3}, {}, {{"block_size", 3}}), {"y_scale", in_blocks, "shape [1, 3]"}},
            {with(13, {2, 3}, {3}, dims {2}), {"y_zero_point", "the shape of y_scale, [3]", "[2]"}},
            {with(13, {2, 3}, {}, dims {1, 1}), {"y_zero_point", "the shape of y_scale, []", "[1, 1]"}},
            // Shapes that no tensor has. In the last one x has no elements, but y_scale has too many.
            {with(13, {2, -1}, {}), {"x", "extents of 0 or more", "shape [2, -1]"}},
            {with(13, {2}, {-1}), {"y_scale", "extents of 0 or more", "shape [-1]"}},
            {with(13, {2}, {}, dims {-1}), {"y_zero_point", "extents of 0 or more", "shape [-1]"}},
            {with(13, {1LL << 40, 1LL << 40}, {}),
                    {"x", "at most 2^58 elements", "shape [1099511627776, 1099511627776]"}},
            {dynamic_of({{"axis", 1}}, {0, INT64_MAX}),
                    {"y_scale", "at most 2^58 elements", "shape [9223372036854775807]"}},
    });
}

TEST(onnx_refusals, more_than_2_to_58_elements) {
    const auto of = [](const dims &x) { return quantize_linear(13, {{float32, x}, {float32, {}}}); };
    EXPECT_EQ(onnx::lower(of({1 << 29, 1 << 29})).statement.src.dims, (dims {1 << 29, 1 << 29}));
    expect_refused<bad_shape>(
            {{of({1 << 29, (1 << 29) + 1}), {"x", "at most 2^58 elements", "shape [536870912, 536870913]"}},
                    {of({(1LL << 58) + 1}), {"x", "at most 2^58 elements", "shape [288230376151711745]"}}});
}

TEST(onnx_refusals, names_that_cannot_be_printed) {
    using namespace std::string_literals;
    auto n = right_quantize(28, {{"ax\0is"s, 1}});
    n.name = "a\0b"s;
    EXPECT_TRUE(fails([&] { onnx::lower(n); }, status::invalid_arguments,
            "node 'a\\x00b' (QuantizeLinear, opset 28): attributes: expected axis, saturate, block_size, output_dtype "
            "or precision, given 'ax\\x00is' (did you mean 'axis'?)"));
    n.domain = "x\n"s;
    EXPECT_TRUE(fails([&] { onnx::lower(n); }, status::unimplemented,
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
        return fails([&] { op.run(args); }, status::invalid_arguments,
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
        return fails([&] { onnx::prepare(n, opts); }, status::invalid_arguments, named(n) + message);
    };
    EXPECT_TRUE(refuses({.threads = -5}, "threads: expected 0 or more, given -5"));
    EXPECT_TRUE(refuses(
            {.max_isa = static_cast<isa>(77)}, "max_isa: expected scalar, avx2, avx512 or neon, given number 77"));
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
    const std::string beginning = std::string("node 'q1' (QuantizeLinear, opset 13): kernel: ")
            + (DYNQUANT_TEST_ONEDNN ? "'onednn' was asked for" : "expected native or reference");
    try {
        onnx::prepare(right_quantize(13), {kernel_kind::onednn, {}, 0, {}});
        FAIL() << "was taken";
    } catch (const error &e) {
        EXPECT_EQ(e.status, status::unimplemented);
        EXPECT_TRUE(std::string(e.what()).starts_with(beginning)) << e.what();
    }
}

} // namespace
} // namespace dynquant::test
