// A model that breaks a rule gives one error, which names the file, the node and the tensor, what is expected and what
// is given.
#include <algorithm>

#include <gtest/gtest.h>

#include "model_support.hpp"
#include "names.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

using test::names;

constexpr auto bad_argument = status::invalid_arguments;
constexpr auto bad_type = status::invalid_data_type;
constexpr auto bad_shape = status::invalid_shape;
constexpr auto unimplemented = status::unimplemented;

void parse(const graph &g, const model_options &options = {}) {
    model::parse(write(g), "m.onnx", options);
}

struct refused_model {
    graph g;
    dynquant::status status;
    names message;
    model_options options = {};
};
void expect_refused(const std::vector<refused_model> &models) {
    for (const auto &m : models)
        EXPECT_TRUE(test::fails([&] { parse(m.g, m.options); }, m.status, m.message, "m.onnx: "));
}

template <typename Change>
graph changed(graph g, Change &&change) {
    change(g);
    return g;
}
graph at_opset(graph g, std::int64_t opset) {
    g.opsets[""] = opset;
    return g;
}
/// A graph with this initializer.
graph with(graph g, const std::string &name, const tensor &value) {
    g.initializers[name] = value;
    return g;
}
tensor bytes(const dims &shape) {
    return tensor_of<std::int8_t>(int8, shape, std::vector<std::int8_t>(static_cast<std::size_t>(*volume(shape))));
}

/// A node that reads x, with attributes.
graph of(const std::string &op, const std::vector<attribute> &attributes, onnx::element_type type, const dims &shape) {
    return one_node({op, "", "", {"x"}, {}, attributes}, type, shape);
}

using ints = std::vector<std::int64_t>;
constexpr std::int64_t one = 1, huge = std::int64_t {1} << 30;

TEST(models_refusals, nothing_is_wrong_with_these) {
    EXPECT_NO_THROW(parse(product_graph()));
    EXPECT_NO_THROW(parse(of("Relu", {}, float_, {2})));
}

TEST(models_refusals, operators_and_opsets) {
    const std::string known =
            "Add, Cast, Conv, ConvInteger, DequantizeLinear, Flatten, Gemm, Identity, MatMul, MatMulInteger, MaxPool, "
            "Mul, QuantizeLinear, Relu, Reshape, Sigmoid, Tanh or Transpose";
    auto several = of("Rellu", {}, float_, {2});
    several.nodes.push_back({"Softmax", "", "", {"y"}, {"a"}});
    several.nodes.push_back({"Softmax", "", "", {"a"}, {"b"}});
    several.nodes.push_back({"Relu", "com.x", "", {"b"}, {"c"}});
    expect_refused({
            {several, unimplemented,
                    {"operators", known,
                            "Rellu (did you mean 'Relu'?) of node 'n', Softmax of node of 'a' and 1 other, com.x.Relu "
                            "of node of 'c'"}},
            {at_opset(product_graph(), 9), unimplemented, {"opset", "10 to 28", "9"}},
            {at_opset(product_graph(), 29), unimplemented, {"opset", "10 to 28", "29"}},
    });
}

TEST(models_refusals, what_a_version_does_not_have_yet) {
    const auto relu = of("Relu", {}, int8, {2}), gemm = one_node({"Gemm", "", "", {"x", "x"}}, float_, {2, 2});
    const auto cast = of("Cast", {{"to", std::int64_t {float16}}, {"saturate", one}}, float_, {2});
    const auto pool = of("MaxPool", {{"kernel_shape", ints {2}}}, int8, {1, 1, 4});
    const auto add = one_node({"Add", "", "", {"x", "x"}}, uint8, {2});
    expect_refused({
            {relu, bad_type, {"node 'n' (Relu): X 'x'", "type float", "int8"}},
            {at_opset(pool, 11), bad_type, {"node 'n' (MaxPool): X 'x'", "type float", "int8"}},
            {add, bad_type, {"node 'n' (Add): A 'x'", "type float, int32 or float16", "uint8"}},
            {at_opset(gemm, 10), bad_argument, {"node 'n' (Gemm): input C", "a value", "none"}},
            {at_opset(cast, 18), bad_argument, {"node 'n' (Cast): attributes", "to at opset 18", "'saturate'"}},
    });
    EXPECT_NO_THROW(parse(at_opset(relu, 14)));
    EXPECT_NO_THROW(parse(at_opset(pool, 12)));
    EXPECT_NO_THROW(parse(at_opset(add, 14)));
    EXPECT_NO_THROW(parse(at_opset(gemm, 11)));
    EXPECT_NO_THROW(parse(at_opset(cast, 19)));
}

TEST(models_refusals, shapes_of_inputs) {
    auto g = product_graph();
    g.inputs.front().shape = dims {free_extent, 3};
    g.outputs.front().shape = dims {free_extent, 2};
    const auto of_any_rank = changed(g, [](graph &h) { h.inputs.front().shape.reset(); });
    model_options options;
    options.shapes = {{"x", {5, 3}}};
    const auto m = model::parse(write(g), "m.onnx", options);
    EXPECT_EQ(m.outputs().front().shape, (dims {5, 2}));
    model_options other = options, misnamed;
    other.shapes["x"] = {5, 4};
    misnamed.shapes = {{"xx", {5, 3}}};
    expect_refused({
            {g, bad_shape, {"input 'x'", "a shape for it among the options, since the file says [?, 3]", "none"}},
            {g, bad_shape, {"input 'x'", "a shape as the file says, [?, 3]", "[5, 4]"}, other},
            {g, bad_argument, {"shapes", "names of inputs", "'xx' (did you mean 'x'?)"}, misnamed},
            {of_any_rank, bad_shape, {"input 'x'", "since the file says of any rank", "none"}},
    });
}

TEST(models_refusals, extents_of_one_name) {
    auto g = product_graph();
    g.inputs = {{"x", uint8, dims {free_extent, 3}, {"n", ""}}, {"u", float_, dims {1, free_extent}, {"", "n"}}};
    g.outputs = {{"y"}, {"u"}};
    model_options options;
    options.shapes = {{"x", {3, 3}}, {"u", {1, 1}}};
    expect_refused({{g, bad_shape, {"input 'u'", "3 for 'n', as in input 'x'", "shape [1, 1]"}, options}});
    options.shapes["u"] = {1, 3};
    EXPECT_NO_THROW(parse(g, options));
    g.inputs.back().names = {"", "k"};
    options.shapes["u"] = {1, 1};
    EXPECT_NO_THROW(parse(g, options));
}

TEST(models_refusals, weights_and_outputs) {
    const auto product = product_graph();
    const std::string b = "node 'fc' (MatMulInteger): B 'w'";
    const auto no_weights = changed(product, [](graph &g) { g.initializers.clear(); });
    expect_refused({
            {changed(product, [](graph &g) { g.outputs.front().type = float_; }), bad_type,
                    {"output 'y'", "type int32, which its node computes", "float"}},
            {changed(product,
                     [](graph &g) {
                         g.outputs.front().shape = dims {2, 3};
                     }),
                    bad_shape, {"output 'y'", "shape [2, 2], which its node computes", "[2, 3]"}},
            {changed(product, [](graph &g) { g.initializers["w"].what.type = uint8; }), bad_type,
                    {b, "type int8, what dynquant computes at opset 13", "uint8"}},
            {changed(no_weights,
                     [](graph &g) {
                         g.inputs.push_back({"w", int8, dims {3, 2}});
                     }),
                    unimplemented, {b, "a constant", "a value that is computed"}},
            {with(product, "w", bytes({2, 3})), bad_shape, {b, "3 rows", "shape 2x3"}},
            {with(product, "w", bytes({})), bad_shape, {b, "rank 1 or more", "a scalar"}},
    });
}

TEST(models_refusals, zero_points) {
    auto g = product_graph();
    g.nodes.front().inputs = {"x", "w", "zx", "zw"};
    g.initializers["zx"] = tensor_of<std::uint8_t>(uint8, {}, {1});
    g.initializers["zw"] = bytes({2});
    EXPECT_NO_THROW(parse(g));
    auto matrices = with(with(g, "w", bytes({2, 3, 2})), "zw", bytes({1, 1, 2}));
    matrices.outputs = {{"y"}};
    const std::string a_zp = "node 'fc' (MatMulInteger): a_zero_point 'zx'",
                      b_zp = "node 'fc' (MatMulInteger): b_zero_point 'zw'";
    expect_refused({
            {with(g, "zw", bytes({3})), bad_shape, {b_zp, "one value, or shape 2", "shape 3"}},
            {matrices, bad_shape, {b_zp, "one value, or shape 2, or shape 2x1x2", "shape 1x1x2"}},
            {with(g, "zx", bytes({})), bad_type, {a_zp, "the type of A 'x', uint8", "int8"}},
            {with(g, "zx", tensor_of<std::uint8_t>(uint8, {2}, {1, 2})), bad_shape, {a_zp, "one value", "shape 2"}},
    });
}

graph convolution(const dims &x, const dims &w, const std::vector<attribute> &attributes = {}) {
    return with(one_node({"ConvInteger", "", "", {"x", "w"}, {}, attributes}, uint8, x), "w", bytes(w));
}

TEST(models_refusals, convolutions) {
    const std::string node = "node 'n' (ConvInteger)", attribute_of = node + ": attribute ";
    const auto conv = [](const attribute &a) { return convolution({1, 4, 5, 5}, {2, 4, 3, 3}, {a}); };
    const auto of_floats = [](std::int64_t group, std::int64_t biases) {
        auto g = one_node({"Conv", "", "", {"x", "w", "b"}, {}, {{"group", group}}}, float_, {1, 4, 5, 5});
        g.initializers["w"] = tensor_of(float_, {2, 4, 3, 3}, std::vector<float>(72));
        return with(g, "b", tensor_of(float_, {biases}, std::vector<float>(static_cast<std::size_t>(biases))));
    };
    EXPECT_NO_THROW(parse(of_floats(1, 2)));
    EXPECT_NO_THROW(parse(convolution({1, 4, 5, 5}, {2, 4, 3, 3})));
    expect_refused({
            {convolution({4, 5}, {2, 4}), bad_shape, {node + ": x 'x'", "batch, channels and spatial", "shape 4x5"}},
            {convolution({1, 4, 5, 5}, {2, 4, 3}), bad_shape, {node + ": w 'w'", "rank 4", "shape 2x4x3"}},
            {convolution({1, 4, 5, 5}, {2, 3, 3, 3}), bad_shape,
                    {node + ": w 'w'", "4 channels, those of x 'x' of shape 1x4x5x5 in 1 groups", "shape 2x3x3x3"}},
            {convolution({1, 4, 2, 5}, {2, 4, 3, 3}), bad_shape,
                    {node, "a window no larger than the padded tensor", "one of 3x3 over 2x5"}},
            {conv({"group", std::int64_t {3}}), bad_argument,
                    {attribute_of + "'group'", "a divisor of 4 channels and 2 filters", "3"}},
            {of_floats(3, 2), bad_argument,
                    {"node 'n' (Conv): attribute 'group'", "a divisor of 4 channels and 2 filters", "3"}},
            {of_floats(1, 3), bad_shape, {"node 'n' (Conv): B 'b'", "shape 2", "shape 3"}},
            {conv({"strides", ints {1}}), bad_argument, {attribute_of + "'strides'", "2 values", "1"}},
            {conv({"strides", ints {1, 0}}), bad_argument, {attribute_of + "'strides'", "1 to 1073741824", "0"}},
            {conv({"pads", ints {0, 0, -1, 0}}), bad_argument, {attribute_of + "'pads'", "0 to 1073741824", "-1"}},
            {conv({"kernel_shape", ints {3, 2}}), bad_argument,
                    {attribute_of + "'kernel_shape'", "3x3, as in the weights' shape", "3x2"}},
            {conv({"auto_pad", "SAME"}), bad_argument,
                    {attribute_of + "'auto_pad'", "NOTSET, SAME_UPPER, SAME_LOWER or VALID", "'SAME'"}},
    });
}

TEST(models_refusals, attributes_inputs_and_types) {
    const std::string flatten = "node 'n' (Flatten): attribute", axis = flatten + " 'axis'";
    expect_refused({
            {of("Flatten", {{"axes", one}}, float_, {2}), bad_argument,
                    {flatten + "s", "axis at opset 13", "'axes' (did you mean 'axis'?)"}},
            {of("Flatten", {{"axis", 1.0F}}, float_, {2}), bad_argument, {axis, "an integer", "another kind"}},
            {of("Flatten", {{"axis", std::int64_t {2}}}, float_, {2}), bad_argument, {axis, "-1 to 1 for rank 1", "2"}},
            {of("Flatten", {{"axis", one}, {"axis", one}}, float_, {2}), bad_argument, {axis, "once", "it more often"}},
            {of("Transpose", {{"perm", ints {0, 0}}}, float_, {2, 2}), bad_argument,
                    {"node 'n' (Transpose): attribute 'perm'", "a permutation of the 2 axes", "one that is none"}},
            {one_node({"Relu", "", "", {"x", "x"}}, float_, {2}), bad_argument,
                    {"node 'n' (Relu): inputs", "at most 1", "2"}},
            {one_node({"Relu", "", "", {}}, float_, {2}), bad_argument,
                    {"node 'n' (Relu): input X", "a value", "none"}},
            // What dynquant::onnx checks.
            {with(one_node({"QuantizeLinear", "", "", {"x", "s"}, {}, {{"block_size", one}}}, float_, {2}), "s",
                     tensor_of<float>(float_, {}, {1})),
                    bad_argument,
                    {"node 'n' (QuantizeLinear, opset 13): attribute 'block_size'", "opset 21 or newer", "opset 13"}},
    });
}

TEST(models_refusals, shapes_that_do_not_fit) {
    const auto add = one_node({"Add", "", "", {"x", "b"}}, int32, {2, 3});
    const auto matmul = one_node({"MatMul", "", "", {"x", "b"}}, float_, {2, 3});
    const auto reshape = [](const ints &shape) {
        return with(one_node({"Reshape", "", "", {"x", "s"}}, float_, {2, 3}), "s",
                tensor_of<std::int64_t>(int64, {std::ssize(shape)}, shape));
    };
    const std::string s = "node 'n' (Reshape): shape 's'";
    expect_refused({
            {with(add, "b", tensor_of<std::int32_t>(int32, {2}, {1, 2})), bad_shape,
                    {"node 'n' (Add): B 'b'", "broadcast with that of A 'x', 2x3", "2"}},
            {with(add, "b", tensor_of<float>(float_, {3}, {1, 2, 3})), bad_type,
                    {"node 'n' (Add): B 'b'", "the type of A 'x', int32", "float"}},
            {with(matmul, "b", tensor_of<float>(float_, {2}, {1, 2})), bad_shape,
                    {"node 'n' (MatMul): B 'b'", "3 rows, the last extent of A 'x' of shape 2x3", "shape 2"}},
            {reshape({4, -1}), bad_shape, {s, "extents whose product divides 6", "4x-1"}},
            {reshape({7}), bad_shape, {s, "extents whose product is 6", "7"}},
            {reshape({3, 2, 0}), bad_shape, {s, "zeros only in place of its extents", "3x2x0"}},
            {reshape({-1, -1}), bad_shape, {s, "-1 at most once", "-1x-1"}},
    });
}

TEST(models_refusals, sizes_beyond_any_memory) {
    const ints four(4, huge);
    const auto weights = tensor_of(int8, {1 << 20, 1, 1}, std::vector<std::int8_t>(1 << 20));
    expect_refused({
            {of("Relu", {}, float_, {huge, huge}), bad_shape,
                    {"input 'x'", "fewer than 2^44 elements", "[1073741824, 1073741824]"}},
            {of("Relu", {}, float_, {0, huge, huge}), bad_shape,
                    {"input 'x'", "where extents of 0 count as 1", "[0, 1073741824, 1073741824]"}},
            {convolution({1, 1, 1, 1}, {1, 1, 1, 1}, {{"pads", four}}), bad_shape,
                    {"node 'n' (ConvInteger): x 'x'", "a padded tensor of fewer than 2^44 elements",
                            "1x1x2147483649x2147483649 for shape 1x1x1x1"}},
            {of("MaxPool", {{"kernel_shape", ints {huge, huge}}, {"pads", four}}, float_, {1, 1, 1, 1}), bad_shape,
                    {"node 'n' (MaxPool)", "a window of fewer than 2^44 taps", "1073741824x1073741824"}},
            {with(one_node({"MatMulInteger", "", "", {"x", "w"}}, uint8, {1 << 24, 1, 1, 1}), "w", weights), bad_shape,
                    {"node 'n' (MatMulInteger): A 'x' and B 'w'", "a batch of fewer than 2^44 elements",
                            "16777216x1048576 for shapes 16777216x1x1x1 and 1048576x1x1"}},
    });
}

TEST(models_refusals, at_run) {
    const auto m = model::parse(write(product_graph()), "m.onnx");
    const std::vector<std::uint8_t> x(6);
    std::vector<std::int32_t> y(4, 7);
    const auto refuses = [&](const std::vector<const void *> &inputs, const std::vector<void *> &outputs,
                                 const names &message) {
        return test::fails([&] { m.run(inputs, outputs); }, status::invalid_arguments, message);
    };
    EXPECT_TRUE(refuses({}, {y.data()}, {"inputs", "1 buffers", "0"}));
    EXPECT_TRUE(refuses({x.data()}, {}, {"outputs", "1 buffers", "0"}));
    EXPECT_TRUE(refuses({nullptr}, {y.data()}, {"input 'x'", "a buffer", "a null pointer"}));
    EXPECT_TRUE(refuses({x.data()}, {nullptr}, {"output 'y'", "a buffer", "a null pointer"}));
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
