// A model that breaks a rule gives one error, which names the file, the node and the tensor, what is expected and what
// is given.
#include <algorithm>

#include <gtest/gtest.h>

#include "model_support.hpp"
#include "support/fails.hpp"

namespace dynquant::models {
namespace {

void parse(const graph &g, const model_options &options = {}) {
    model::parse(write(g), "m.onnx", options);
}

testing::AssertionResult refused(
        const graph &g, const model_options &options, dnnl_status_t status, const std::string &message) {
    return test::fails([&] { parse(g, options); }, status, "m.onnx: " + message);
}
testing::AssertionResult refused(const graph &g, dnnl_status_t status, const std::string &message) {
    return refused(g, model_options {}, status, message);
}
testing::AssertionResult refused(
        const node &n, onnx::element_type type, const dims &shape, dnnl_status_t status, const std::string &message) {
    return refused(one_node(n, type, shape), status, message);
}

TEST(models_refusals, nothing_is_wrong_with_these) {
    EXPECT_NO_THROW(parse(product_graph()));
    EXPECT_NO_THROW(parse(one_node({"Relu", "", "", {"x"}}, float_, {2})));
}

TEST(models_refusals, files) {
    EXPECT_THROW(model::load("no such file"), error);
    const auto whole = write(product_graph());
    EXPECT_TRUE(test::fails([&] { model::parse(whole.substr(0, whole.size() / 2), "m.onnx"); }, dnnl_invalid_arguments,
            "m.onnx: expected a model of ONNX, given bytes that are none or are cut short"));
}

TEST(models_refusals, operators_and_opsets) {
    const std::string known =
            "operators: expected Add, Cast, Conv, ConvInteger, DequantizeLinear, Flatten, Gemm, Identity, MatMul, "
            "MatMulInteger, MaxPool, Mul, QuantizeLinear, Relu, Reshape, Sigmoid, Tanh or Transpose, given ";
    EXPECT_TRUE(refused({"Rellu", "", "", {"x"}}, float_, {2}, dnnl_unimplemented,
            known + "Rellu (did you mean 'Relu'?) of node 'n'"));
    EXPECT_TRUE(
            refused({"Relu", "com.x", "", {"x"}}, float_, {2}, dnnl_unimplemented, known + "com.x.Relu of node 'n'"));
    auto g = product_graph();
    g.opsets[""] = 9;
    EXPECT_TRUE(refused(g, dnnl_unimplemented, "opset: expected 10 to 28, given 9"));
    g.opsets[""] = 29;
    EXPECT_TRUE(refused(g, dnnl_unimplemented, "opset: expected 10 to 28, given 29"));
}

TEST(models_refusals, relu_of_integers_before_opset_14) {
    auto g = one_node({"Relu", "", "", {"x"}}, int8, {2});
    EXPECT_TRUE(refused(g, dnnl_invalid_data_type,
            "node 'n' (Relu): X 'x': expected type float, what dynquant computes at opset 13, given int8"));
    g.opsets[""] = 14;
    EXPECT_NO_THROW(parse(g));
}

TEST(models_refusals, sums_of_bytes_before_opset_14) {
    for (const char *op : {"Add", "Mul"}) {
        auto g = one_node({op, "", "", {"x", "x"}}, uint8, {2});
        EXPECT_TRUE(refused(g, dnnl_invalid_data_type,
                std::string("node 'n' (") + op
                        + "): A 'x': expected type float, int32 or float16, what dynquant computes at opset 13, given "
                          "uint8"));
        g.opsets[""] = 14;
        EXPECT_NO_THROW(parse(g));
        g.inputs.front().type = int64;
        EXPECT_TRUE(refused(g, dnnl_invalid_data_type,
                std::string("node 'n' (") + op
                        + "): A 'x': expected type float, uint8, int8, int32 or float16, what dynquant computes at "
                          "opset 14, given int64"));
    }
}

TEST(models_refusals, what_a_version_does_not_have_yet) {
    auto g = one_node({"Gemm", "", "", {"x", "x"}}, float_, {2, 2});
    g.opsets[""] = 10;
    EXPECT_TRUE(refused(g, dnnl_invalid_arguments, "node 'n' (Gemm): input C: expected a value, given none"));
    g.opsets[""] = 11;
    EXPECT_NO_THROW(parse(g));
    g = one_node(
            {"Cast", "", "", {"x"}, {}, {{"to", std::int64_t {float16}}, {"saturate", std::int64_t {1}}}}, float_, {2});
    g.opsets[""] = 18;
    EXPECT_TRUE(refused(
            g, dnnl_invalid_arguments, "node 'n' (Cast): attributes: expected to at opset 18, given 'saturate'"));
    g.opsets[""] = 19;
    EXPECT_NO_THROW(parse(g));
}

TEST(models_refusals, shapes_of_inputs) {
    auto g = product_graph();
    g.inputs.front().shape = dims {free_extent, 3};
    g.outputs.front().shape = dims {free_extent, 2};
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "input 'x': expected a shape for it among the options, since the file says [?, 3], given none"));
    model_options options;
    options.shapes = {{"x", {5, 4}}};
    EXPECT_TRUE(refused(
            g, options, dnnl_invalid_shape, "input 'x': expected a shape as the file says, [?, 3], given [5, 4]"));
    options.shapes = {{"xx", {5, 3}}};
    EXPECT_TRUE(refused(
            g, options, dnnl_invalid_arguments, "shapes: expected names of inputs, given 'xx' (did you mean 'x'?)"));
    options.shapes = {{"x", {5, 3}}};
    const auto m = model::parse(write(g), "m.onnx", options);
    EXPECT_EQ(m.outputs().front().shape, (dims {5, 2}));
    g.inputs.front().shape.reset();
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "input 'x': expected a shape for it among the options, since the file says of any rank, given none"));
}

TEST(models_refusals, extents_of_one_name) {
    auto g = product_graph();
    g.inputs = {{"x", uint8, dims {free_extent, 3}, {"n", ""}}, {"u", float_, dims {1, free_extent}, {"", "n"}}};
    g.outputs = {{"y"}, {"u"}};
    model_options options;
    options.shapes = {{"x", {3, 3}}, {"u", {1, 1}}};
    EXPECT_TRUE(refused(
            g, options, dnnl_invalid_shape, "input 'u': expected 3 for 'n', as in input 'x', given shape [1, 1]"));
    options.shapes["u"] = {1, 3};
    EXPECT_NO_THROW(parse(g, options));
    g.inputs.back().names = {"", "k"};
    options.shapes["u"] = {1, 1};
    EXPECT_NO_THROW(parse(g, options));
}

TEST(models_refusals, outputs_that_are_not_as_declared) {
    auto g = product_graph();
    g.outputs.front().type = float_;
    EXPECT_TRUE(refused(
            g, dnnl_invalid_data_type, "output 'y': expected type int32, which its node computes, given float"));
    g = product_graph();
    g.outputs.front().shape = dims {2, 3};
    EXPECT_TRUE(
            refused(g, dnnl_invalid_shape, "output 'y': expected shape [2, 2], which its node computes, given [2, 3]"));
}

TEST(models_refusals, weights) {
    auto g = product_graph();
    g.initializers["w"].what.type = uint8;
    EXPECT_TRUE(refused(g, dnnl_invalid_data_type,
            "node 'fc' (MatMulInteger): B 'w': expected type int8, what dynquant computes at opset 13, given uint8"));
    g = product_graph();
    g.initializers.clear();
    EXPECT_TRUE(refused(g, dnnl_invalid_arguments,
            "node 'fc' (MatMulInteger): input 'w': expected an initializer, an input of the graph or another node's "
            "output, given none of that name"));
    g.inputs.push_back({"w", int8, dims {3, 2}});
    EXPECT_TRUE(refused(g, dnnl_unimplemented,
            "node 'fc' (MatMulInteger): B 'w': expected a constant, an initializer, given a value that is computed"));
    g = product_graph();
    g.initializers["w"] = tensor_of<std::int8_t>(int8, {2, 3}, std::vector<std::int8_t>(6));
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'fc' (MatMulInteger): B 'w': expected 3 rows, the last extent of A 'x' of shape 2x3, given shape "
            "2x3"));
    g.initializers["w"] = tensor_of<std::int8_t>(int8, {}, {1});
    EXPECT_TRUE(refused(
            g, dnnl_invalid_shape, "node 'fc' (MatMulInteger): B 'w': expected rank 1 or more, given a scalar"));
}

TEST(models_refusals, zero_points) {
    auto g = product_graph();
    g.nodes.front().inputs = {"x", "w", "zx", "zw"};
    g.initializers["zx"] = tensor_of<std::uint8_t>(uint8, {}, {1});
    g.initializers["zw"] = tensor_of<std::int8_t>(int8, {3}, {1, 2, 3});
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'fc' (MatMulInteger): b_zero_point 'zw': expected one value, or shape 2, given shape 3"));
    g.initializers["zw"] = tensor_of<std::int8_t>(int8, {2}, {1, 2});
    EXPECT_NO_THROW(parse(g));
    auto matrices = g;
    matrices.initializers["w"] = tensor_of<std::int8_t>(int8, {2, 3, 2}, std::vector<std::int8_t>(12));
    matrices.initializers["zw"] = tensor_of<std::int8_t>(int8, {1, 1, 2}, {1, 2});
    matrices.outputs = {{"y"}};
    EXPECT_TRUE(refused(matrices, dnnl_invalid_shape,
            "node 'fc' (MatMulInteger): b_zero_point 'zw': expected one value, or shape 2, or shape 2x1x2, given shape "
            "1x1x2"));
    g.initializers["zx"].what.type = int8;
    EXPECT_TRUE(refused(g, dnnl_invalid_data_type,
            "node 'fc' (MatMulInteger): a_zero_point 'zx': expected the type of A 'x', uint8, given int8"));
    g.initializers["zx"] = tensor_of<std::uint8_t>(uint8, {2}, {1, 2});
    EXPECT_TRUE(refused(
            g, dnnl_invalid_shape, "node 'fc' (MatMulInteger): a_zero_point 'zx': expected one value, given shape 2"));
}

graph convolution(const dims &x, const dims &w, const std::vector<attribute> &attributes = {}) {
    auto g = one_node({"ConvInteger", "", "", {"x", "w"}, {}, attributes}, uint8, x);
    std::size_t count = 1;
    for (const auto extent : w)
        count *= static_cast<std::size_t>(extent);
    g.initializers["w"] = tensor_of<std::int8_t>(int8, w, std::vector<std::int8_t>(count));
    return g;
}

TEST(models_refusals, convolutions) {
    using ints = std::vector<std::int64_t>;
    const std::string where = "node 'n' (ConvInteger): ";
    EXPECT_NO_THROW(parse(convolution({1, 4, 5, 5}, {2, 4, 3, 3})));
    EXPECT_TRUE(refused(convolution({4, 5}, {2, 4}), dnnl_invalid_shape,
            where + "x 'x': expected a batch, channels and spatial dimensions, given shape 4x5"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 4, 3}), dnnl_invalid_shape,
            where + "w 'w': expected rank 4, that of x 'x', given shape 2x4x3"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 3, 3, 3}), dnnl_invalid_shape,
            where + "w 'w': expected 4 channels, those of x 'x' of shape 1x4x5x5 in 1 groups, given shape 2x3x3x3"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {{"group", std::int64_t {3}}}), dnnl_invalid_arguments,
            where + "attribute 'group': expected a divisor of 4 channels and 2 filters, given 3"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {{"strides", ints {1}}}), dnnl_invalid_arguments,
            where + "attribute 'strides': expected 2 values, given 1"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {{"strides", ints {1, 0}}}), dnnl_invalid_arguments,
            where + "attribute 'strides': expected values of 1 to 1073741824, given 0"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {{"pads", ints {0, 0, -1, 0}}}), dnnl_invalid_arguments,
            where + "attribute 'pads': expected values of 0 to 1073741824, given -1"));
    EXPECT_TRUE(refused(convolution({1, 4, 2, 5}, {2, 4, 3, 3}), dnnl_invalid_shape,
            where + "expected a window no larger than the padded tensor, given one of 3x3 over 2x5"));
    EXPECT_TRUE(
            refused(convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {{"kernel_shape", ints {3, 2}}}), dnnl_invalid_arguments,
                    where + "attribute 'kernel_shape': expected 3x3, as in the weights' shape, given 3x2"));
    EXPECT_TRUE(refused(convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {{"auto_pad", "SAME"}}), dnnl_invalid_arguments,
            where + "attribute 'auto_pad': expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, given 'SAME'"));
}

TEST(models_refusals, attributes) {
    const std::string where = "node 'n' (Flatten): ";
    EXPECT_TRUE(
            refused({"Flatten", "", "", {"x"}, {}, {{"axes", std::int64_t {1}}}}, float_, {2}, dnnl_invalid_arguments,
                    where + "attributes: expected axis at opset 13, given 'axes' (did you mean 'axis'?)"));
    EXPECT_TRUE(refused({"Flatten", "", "", {"x"}, {}, {{"axis", 1.0F}}}, float_, {2}, dnnl_invalid_arguments,
            where + "attribute 'axis': expected an integer, given another kind"));
    EXPECT_TRUE(refused({"Flatten", "", "", {"x"}, {}, {{"axis", std::int64_t {2}}}}, float_, {2},
            dnnl_invalid_arguments, where + "attribute 'axis': expected -1 to 1 for rank 1, given 2"));
    EXPECT_TRUE(refused({"Flatten", "", "", {"x"}, {}, {{"axis", std::int64_t {1}}, {"axis", std::int64_t {1}}}},
            float_, {2}, dnnl_invalid_arguments, where + "attribute 'axis': expected it once, given it more often"));
    EXPECT_TRUE(refused({"Transpose", "", "", {"x"}, {}, {{"perm", std::vector<std::int64_t> {0, 0}}}}, float_, {2, 2},
            dnnl_invalid_arguments,
            "node 'n' (Transpose): attribute 'perm': expected a permutation of the 2 axes of data 'x', given one that "
            "is none"));
}

TEST(models_refusals, inputs_and_types) {
    EXPECT_TRUE(refused({"Relu", "", "", {"x", "x"}}, float_, {2}, dnnl_invalid_arguments,
            "node 'n' (Relu): inputs: expected at most 1, given 2"));
    EXPECT_TRUE(refused({"Relu", "", "", {}}, float_, {2}, dnnl_invalid_arguments,
            "node 'n' (Relu): input X: expected a value, given none"));
    EXPECT_TRUE(refused({"Tanh", "", "", {"x"}}, int32, {2}, dnnl_invalid_data_type,
            "node 'n' (Tanh): input 'x': expected type float or float16, what dynquant computes at opset 13, given "
            "int32"));
    EXPECT_TRUE(refused({"Cast", "", "", {"x"}, {}, {{"to", std::int64_t {9}}}}, float_, {2}, dnnl_unimplemented,
            "node 'n' (Cast): attribute 'to': expected a cast of any of these types to float, of float to float16, or "
            "of uint8 or int8 to int32, given one of float to bool"));
    auto g = one_node(
            {"MaxPool", "", "", {"x"}, {}, {{"kernel_shape", std::vector<std::int64_t> {2}}}}, int8, {1, 1, 4});
    EXPECT_NO_THROW(parse(g));
    g.opsets[""] = 11;
    EXPECT_TRUE(refused(g, dnnl_invalid_data_type,
            "node 'n' (MaxPool): X 'x': expected type float, what dynquant computes at opset 11, given int8"));
}

TEST(models_refusals, shapes_that_do_not_fit) {
    auto g = one_node({"Add", "", "", {"x", "b"}}, int32, {2, 3});
    g.initializers["b"] = tensor_of<std::int32_t>(int32, {2}, {1, 2});
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'n' (Add): B 'b': expected a shape that can be broadcast with that of A 'x', 2x3, given 2"));
    g.initializers["b"] = tensor_of<float>(float_, {3}, {1, 2, 3});
    EXPECT_TRUE(refused(
            g, dnnl_invalid_data_type, "node 'n' (Add): B 'b': expected the type of A 'x', int32, given float"));
    g = one_node({"MatMul", "", "", {"x", "b"}}, float_, {2, 3});
    g.initializers["b"] = tensor_of<float>(float_, {2}, {1, 2});
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'n' (MatMul): B 'b': expected 3 rows, the last extent of A 'x' of shape 2x3, given shape 2"));
    g = one_node({"Reshape", "", "", {"x", "s"}}, float_, {2, 3});
    g.initializers["s"] = tensor_of<std::int64_t>(int64, {2}, {4, -1});
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'n' (Reshape): shape 's': expected extents whose product divides 6 for data 'x' of shape 2x3, given "
            "4x-1"));
    g.initializers["s"] = tensor_of<std::int64_t>(int64, {1}, {7});
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'n' (Reshape): shape 's': expected extents whose product is 6 for data 'x' of shape 2x3, given 7"));
    g.initializers["s"] = tensor_of<std::int64_t>(int64, {2}, {-1, -1});
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'n' (Reshape): shape 's': expected extents of 0 or more, and -1 at most once, for data 'x' of shape "
            "2x3, given -1x-1"));
}

TEST(models_refusals, quantize_linear_is_checked_by_dynquant_onnx) {
    auto g = one_node({"QuantizeLinear", "", "", {"x", "s"}, {}, {{"block_size", std::int64_t {1}}}}, float_, {2});
    g.initializers["s"] = tensor_of<float>(float_, {}, {1});
    EXPECT_TRUE(refused(g, dnnl_invalid_arguments,
            "node 'n' (QuantizeLinear, opset 13): attribute 'block_size': expected opset 21 or newer, given opset 13"));
}

TEST(models_refusals, sizes_beyond_any_memory) {
    constexpr std::int64_t huge = std::int64_t {1} << 30;
    EXPECT_TRUE(refused({"Relu", "", "", {"x"}}, float_, {huge, huge}, dnnl_invalid_shape,
            "input 'x': expected fewer than 2^44 elements, where extents of 0 count as 1, given [1073741824, "
            "1073741824]"));
    EXPECT_TRUE(refused({"Relu", "", "", {"x"}}, float_, {0, huge, huge}, dnnl_invalid_shape,
            "input 'x': expected fewer than 2^44 elements, where extents of 0 count as 1, given [0, 1073741824, "
            "1073741824]"));
    EXPECT_TRUE(refused(convolution({1, 1, 1, 1}, {1, 1, 1, 1}, {{"pads", std::vector<std::int64_t>(4, huge)}}),
            dnnl_invalid_shape,
            "node 'n' (ConvInteger): x 'x': expected a padded tensor of fewer than 2^44 elements, where extents of 0 "
            "count as 1, given 1x1x2147483649x2147483649 for shape 1x1x1x1"));
    EXPECT_TRUE(refused({"MaxPool", "", "", {"x"}, {},
                                {{"kernel_shape", std::vector<std::int64_t> {huge, huge}},
                                        {"pads", std::vector<std::int64_t>(4, huge)}}},
            float_, {1, 1, 1, 1}, dnnl_invalid_shape,
            "node 'n' (MaxPool): expected a window of fewer than 2^44 taps, given 1073741824x1073741824"));
    auto g = one_node({"MatMulInteger", "", "", {"x", "w"}}, uint8, {1 << 24, 1, 1, 1});
    g.initializers["w"] = tensor_of(int8, {1 << 20, 1, 1}, std::vector<std::int8_t>(1 << 20));
    EXPECT_TRUE(refused(g, dnnl_invalid_shape,
            "node 'n' (MatMulInteger): A 'x' and B 'w': expected a batch of fewer than 2^44 elements, where extents of "
            "0 count as 1, given 16777216x1048576 for shapes 16777216x1x1x1 and 1048576x1x1"));
}

TEST(models_refusals, at_run) {
    const auto m = model::parse(write(product_graph()), "m.onnx");
    const std::vector<std::uint8_t> x(6);
    std::vector<std::int32_t> y(4, 7);
    const auto refuses = [&](const std::vector<const void *> &inputs, const std::vector<void *> &outputs,
                                 const std::string &message) {
        return test::fails([&] { m.run(inputs, outputs); }, dnnl_invalid_arguments, message);
    };
    EXPECT_TRUE(refuses({}, {y.data()}, "inputs: expected 1 buffers, given 0"));
    EXPECT_TRUE(refuses({x.data()}, {}, "outputs: expected 1 buffers, given 0"));
    EXPECT_TRUE(refuses({nullptr}, {y.data()}, "input 'x': expected a buffer, given a null pointer"));
    EXPECT_TRUE(refuses({x.data()}, {nullptr}, "output 'y': expected a buffer, given a null pointer"));
    EXPECT_EQ(y, std::vector<std::int32_t>(4, 7)); // nothing has been written
    EXPECT_THROW(model().run({}, {}), error);
    EXPECT_THROW(model().stages(), error);
    EXPECT_FALSE(model());
}

// ---- Hostile models ----

graph example() {
    auto g = product_graph();
    g.initializers["b"] = tensor_of<std::int32_t>(int32, {2}, {5, 6});
    g.initializers["s"] = tensor_of<float>(float_, {}, {0.5F});
    g.initializers["r"] = tensor_of<std::int64_t>(int64, {2}, {-1, 1});
    g.nodes.push_back({"Add", "", "", {"y", "b"}, {"h1"}});
    g.nodes.push_back({"Cast", "", "", {"h1"}, {"h2"}, {{"to", std::int64_t {float_}}}});
    g.nodes.push_back({"QuantizeLinear", "", "", {"h2", "s"}, {"h3"}});
    g.nodes.push_back({"Reshape", "", "", {"h3", "r"}, {"h4"}});
    g.nodes.push_back({"Transpose", "", "", {"h4"}, {"z"}, {{"perm", std::vector<std::int64_t> {1, 0}}}});
    g.outputs = {{"z", uint8, dims {1, 4}}};
    return g;
}

/// Where its buffers are small.
void run_on_zeros(const model &m) {
    std::vector<std::vector<std::byte>> buffers;
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    const auto buffer = [&](const model_port &port) {
        const auto bytes = *size_in_bytes({port.type, port.shape});
        buffers.emplace_back(bytes < 1 << 20 ? static_cast<std::size_t>(bytes) : 0);
        return bytes < 1 << 20 ? buffers.back().data() : nullptr;
    };
    for (const auto &port : m.inputs())
        inputs.push_back(buffer(port));
    for (const auto &port : m.outputs())
        outputs.push_back(buffer(port));
    if (std::ranges::count(outputs, nullptr) > 0 || std::ranges::count(inputs, nullptr) > 0) return;
    EXPECT_NO_THROW(m.run(inputs, outputs));
}

TEST(models_refusals, files_with_any_byte_changed) {
    const auto whole = write(example());
    EXPECT_NO_THROW(parse(example()));
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const int value : {0, 1, 2, 3, 8, 127, 128, 255}) {
            auto changed = whole;
            changed[at] = static_cast<char>(value);
            model m;
            try {
                m = model::parse(changed, "m.onnx");
            } catch (const error &e) {
                EXPECT_NE(std::string(e.what()).find("expected "), std::string::npos) << e.what();
                continue;
            }
            run_on_zeros(m);
        }
}

} // namespace
} // namespace dynquant::models
