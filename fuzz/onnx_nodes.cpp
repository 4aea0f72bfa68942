// Nodes of ONNX's operators, of com.amd.quark's and of dynquant's, most of them nearly right: a refusal says what is
// wrong, and a node that is accepted gives the oracle's bits by every kernel and instruction set.
#include "support/onnx.hpp"
#include "support/random.hpp"
#include "target.hpp"

namespace {

using namespace dynquant;
using namespace dynquant::test;
namespace type = tensor_proto;

struct signature {
    const char *op_type, *domain;
};
constexpr signature operators[] = {{"QuantizeLinear", ""}, {"DequantizeLinear", ""}, {"DynamicQuantizeLinear", ""},
        {"ExtendedQuantizeLinear", "com.amd.quark"}, {"ExtendedDequantizeLinear", "com.amd.quark"},
        {"DynamicQuantizeLinear", "dynquant"}, {"QuantizeLinear", "ai.onnx"}, {"QuantizeLinear", "com.microsoft"}};

/// A few have more dims than a statement, so that they merge.
dims draw_shape(random_source &random) {
    const auto drawn = random.within(0, 255);
    const bool is_long = drawn >= 230;
    dims shape(static_cast<std::size_t>(is_long ? max_rank + 1 + drawn % 3 : drawn % 5));
    for (auto &extent : shape)
        extent = random.chance(4) ? random.within(-2, 0) : random.within(1, is_long ? 2 : 9);
    return shape;
}

onnx::element_type draw_type(random_source &random, const std::vector<onnx::element_type> &usual) {
    return random.chance(90) ? random.one_of(usual) : static_cast<onnx::element_type>(random.within(-1, 30));
}

const std::vector<onnx::element_type> reals = {type::float32, type::float16, type::bfloat16, type::int32},
                                      codes = {type::uint8, type::int8, type::uint16, type::int16, type::int4,
                                              type::uint4, type::uint2, type::int2, type::float8e4m3fn,
                                              type::float8e5m2, type::float8e4m3fnuz, type::float8e5m2fnuz,
                                              type::float4e2m1, type::int32, type::uint32, type::bfloat16,
                                              type::float16, type::float6e2m3, type::float6e3m2},
                                      scales = {type::float32, type::float32, type::float16, type::bfloat16,
                                              type::float8e8m0, type::float8e4m3fn, type::int32};

onnx::node draw_node(random_source &random) {
    const auto &[op_type, domain] = operators[random.within(0, std::ssize(operators) - 1)];
    const bool computes = std::string(op_type).starts_with("Dynamic");
    const bool dequantizes = std::string(op_type).find("Dequantize") != std::string::npos;
    const auto shape = draw_shape(random);
    const auto axis = shape.empty() ? 0 : random.within(0, std::ssize(shape) - 1);
    const auto block = random.chance(60) ? 0 : random.within(1, 5);
    dims parameters;
    if (block > 0) {
        parameters = shape;
        if (!shape.empty())
            parameters[static_cast<std::size_t>(axis)] = (shape[static_cast<std::size_t>(axis)] + block - 1) / block;
    } else if (!shape.empty() && random.chance(50)) {
        parameters = {shape[static_cast<std::size_t>(axis)]};
    }
    if (random.chance(5)) parameters = draw_shape(random);
    onnx::node n = make_node(
            op_type, random.within(9, 29), {{draw_type(random, dequantizes ? codes : reals), shape}}, {}, domain);
    if (n.domain != "" && n.domain != "ai.onnx") n.opset = random.chance(95) ? 1 : n.opset;
    if (!computes) {
        n.inputs.push_back({draw_type(random, scales), parameters});
        if (random.chance(60))
            n.inputs.push_back(
                    {dequantizes && random.chance(90) ? n.inputs[0].type : draw_type(random, codes), parameters});
    }
    if (random.chance(3)) n.inputs.resize(static_cast<std::size_t>(random.within(0, 4)));
    const auto add = [&](const char *name, std::int64_t value) { n.attributes.push_back({name, value}); };
    if (random.chance(85)) add("axis", random.chance(70) ? axis : axis - std::ssize(shape));
    if (block > 0) add("block_size", block);
    if (random.chance(15)) add("saturate", random.within(0, 1));
    if (random.chance(20)) add("output_dtype", draw_type(random, dequantizes ? reals : codes));
    if (random.chance(10)) add("precision", draw_type(random, reals));
    if (computes && n.domain == "dynquant" && random.chance(80))
        n.attributes.push_back(text_attribute("rule",
                random.one_of(std::vector<std::string> {"absmax", "minmax", "mx_floor", "mx_ceil", "mx_even",
                        "mx_rceil", "nvfp4", "torchao_symmetric", "torchao_asymmetric", "ggml_q8_0", "vllm", "onnx",
                        "absmx"})));
    if (random.chance(3))
        n.attributes.push_back({random.one_of(std::vector<std::string> {"axes", "blocksize", ""}), random.within(-9, 9),
                static_cast<std::int32_t>(random.within(0, 4))});
    return n;
}

/// The parameter of element i, as the specification of QuantizeLinear states it for rows, blocks and single scales.
std::int64_t parameter_by_definition(const onnx::node &n, std::int64_t i) {
    const auto &shape = n.inputs[0].shape, &counts = n.inputs[1].shape;
    const auto attribute_of = [&](const char *name, std::int64_t otherwise) {
        const auto found = std::ranges::find(n.attributes, name, &onnx::attribute::name);
        return found == n.attributes.end() ? otherwise : found->i;
    };
    if (std::ranges::count(counts, 1) == std::ssize(counts)) return 0;
    auto axis = attribute_of("axis", 1);
    if (axis < 0) axis += std::ssize(shape);
    dims index(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; i /= shape[d])
        index[d] = i % shape[d];
    if (counts.size() == 1 && attribute_of("block_size", 0) == 0) return index[static_cast<std::size_t>(axis)];
    index[static_cast<std::size_t>(axis)] /= attribute_of("block_size", 1);
    std::int64_t parameter = 0;
    for (std::size_t d = 0; d < counts.size(); ++d)
        parameter = parameter * counts[d] + index[d];
    return parameter;
}

/// That of the statement, whose src is dense.
std::int64_t parameter_of(const quantization &q, std::int64_t i) {
    const auto &shape = q.src.dims;
    std::int64_t parameter = 0, volume = 1;
    for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) {
        parameter += i % shape[d] / q.scales.block[d] * volume;
        volume *= (shape[d] + q.scales.block[d] - 1) / q.scales.block[d];
    }
    return parameter;
}

void expect_defined_parameters(const onnx::node &n, const quantization &q) {
    std::int64_t volume = 1;
    for (const auto extent : n.inputs[0].shape)
        volume *= extent;
    for (std::int64_t i = 0; i < volume; ++i)
        fuzz::expect(parameter_of(q, i) == parameter_by_definition(n, i),
                "element " + std::to_string(i) + " of " + n.op_type + ": expected parameter "
                        + std::to_string(parameter_by_definition(n, i)) + ", given "
                        + std::to_string(parameter_of(q, i)));
}

/// The buffers of the node, of which the statement's run would have the same.
void run_node(const onnx::node &n, const variant &by, const sample &s) {
    guarded_sample guarded(s);
    const auto op = onnx::prepare(n, by.forced());
    const auto result = guarded.computed_right_by([&](const arguments &a) {
        op.run({a.src, a.scales, a.zero_points, a.dst, a.computed_scales, a.computed_zero_points});
    });
    fuzz::expect(result, by.name() + ": " + result.message());
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    random_source random(std::span(data, size));
    const auto n = draw_node(random);
    onnx::lowering of;
    try {
        of = onnx::lower(n);
    } catch (const error &e) {
        const std::string message = e.what();
        fuzz::expect(message.find("q1") != std::string::npos && message.size() > 20,
                "expected a message that names the node, given: " + message);
        return 0;
    }
    const auto outputs = onnx::output_types(n);
    fuzz::expect(outputs.size() == of.outputs.size() && outputs[0] == of.outputs[0].type,
            "expected the types of output_types()");
    if (std::ranges::count(of.statement.src.dims, 0) > 0) { // a node computes its one scale all the same
        onnx::prepare(n);
        return 0;
    }
    if (!of.statement.computed) expect_defined_parameters(n, of.statement);
    const auto s = random_onnx_sample(random, of.statement);
    for (const auto &by : universal_variants())
        run_node(n, by, s);
    return 0;
}
