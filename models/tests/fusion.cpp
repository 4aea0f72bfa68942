// Nodes that form a layer are fused, others get a note why not, and fusing changes no bit.
#include "dynquant/model.hpp"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "model/file.hpp"

namespace dynquant::models {
namespace {

using test::graph_builder;
namespace type = test::type;

constexpr std::int64_t rows = 3, inner = 20, columns = 5;

/// A product of x and weights, with a bias: sums in s32.
graph_builder product(onnx::element_type x_type = type::uint8) {
    graph_builder b({x_type, {rows, inner}});
    b.then("MatMulInteger", {b.weights({inner, columns}, inner * columns)});
    return b.then("Add", {b.constant<std::int32_t>(type::int32, {columns}, {100, -2000, 30, 0, 5000})});
}

graph_builder convolution() {
    graph_builder b({type::int8, {2, 3, 6, 7}});
    b.then("ConvInteger", {b.weights({4, 3, 3, 3}, 108)});
    return b.then("Add", {b.constant<std::int32_t>(type::int32, {1, 4, 1, 1}, {100, -2000, 30, 0})});
}

graph_builder rescaled() {
    return product().cast(type::float32).mul(11184810).mul(0x1p-34F);
}

dynquant::model parse(const graph &g, bool fuse = true) {
    model_options options;
    options.fuse = fuse;
    options.threads = 1;
    return dynquant::model::parse(write(g), "test.onnx", options);
}

std::vector<std::string> patterns_of(const graph &g) {
    const auto m = parse(g);
    std::vector<std::string> patterns;
    for (const auto &stage : m.stages())
        patterns.push_back(stage.pattern);
    return patterns;
}

/// All outputs for x from a fixed sequence of bytes, and for other inputs of one float or of one for each column.
std::vector<std::vector<std::uint8_t>> outputs_of(const dynquant::model &m) {
    std::vector<std::uint8_t> x(bytes_of(m.inputs().front()));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<std::uint8_t>(i * 101 + i / 256);
    constexpr float scales[columns] = {0.013F, 0.02F, 0.5F, -1, 3};
    std::vector<const void *> inputs(m.inputs().size(), scales);
    inputs.front() = x.data();
    std::vector<std::vector<std::uint8_t>> results;
    std::vector<void *> outputs;
    for (const auto &port : m.outputs())
        results.emplace_back(bytes_of(port));
    for (auto &result : results)
        outputs.push_back(result.data());
    m.run(inputs, outputs);
    const auto first = results;
    m.run(inputs, outputs); // with the state that the first run left
    EXPECT_EQ(results, first);
    return results;
}

void expect_same_bits(const graph &g) {
    EXPECT_EQ(outputs_of(parse(g)), outputs_of(parse(g, false)));
}

void expect_one_layer(graph_builder &b, const std::string &pattern) {
    const auto g = b.finished();
    EXPECT_EQ(patterns_of(g), std::vector<std::string> {pattern});
    expect_same_bits(g);
}

/// The product is a separate stage, whose note gives `reason`.
void expect_not_fused(graph_builder &b, const std::string &reason) {
    const auto g = b.finished();
    const auto stages = parse(g).stages();
    const auto is_product = [](const model_stage &s) {
        return s.pattern == "MatMulInteger" || s.pattern == "ConvInteger";
    };
    const auto stage = std::ranges::find_if(stages, is_product);
    ASSERT_NE(stage, stages.end()) << "a layer: " << stages.front().pattern;
    EXPECT_EQ(stage->note, "not fused: " + reason);
    expect_same_bits(g);
}

// ---- The patterns ----

TEST(fusion, fully_connected) {
    for (const auto to : {type::int8, type::uint8}) {
        expect_one_layer(rescaled().quantize(to), "fully connected");
        expect_one_layer(product(type::int8).cast(type::float32).mul(0.01F).quantize(to), "fully connected");
        expect_one_layer(rescaled().then("Relu").quantize(to), "fully connected with ReLU");
    }
}

TEST(fusion, without_a_bias) {
    graph_builder b({type::uint8, {rows, inner}});
    b.then("MatMulInteger", {b.weights({inner, columns}, inner * columns)});
    expect_one_layer(b.cast(type::float32).mul(0.01F).quantize(type::int8), "fully connected");
}

TEST(fusion, convolution) {
    expect_one_layer(convolution().cast(type::float32).mul(0.004F).quantize(type::int8), "convolution");
    expect_one_layer(convolution().cast(type::float32).mul(3).mul(0x1p-9F).then("Relu").quantize(type::uint8),
            "convolution with ReLU");
}

TEST(fusion, activations) {
    const auto first = [] { return rescaled().quantize(type::int8).dequantize(type::int8, 0.03F); };
    expect_one_layer(first().then("Tanh").quantize(type::int8, 0.0078F), "fully connected with int8 Tanh");
    expect_one_layer(first().cast(type::float16).then("Tanh").cast(type::float32).quantize(type::int8, 0.0078F),
            "fully connected with fp16 Tanh");
    expect_one_layer(first().cast(type::float16).then("Sigmoid").cast(type::float32).quantize(type::uint8, 0.0039F),
            "fully connected with fp16 Sigmoid");
}

TEST(fusion, activations_of_rescaled_values) {
    for (const auto *function : {"Tanh", "Sigmoid"}) {
        auto flat = product().cast(type::float32).mul(0.0002F).cast(type::float16).then(function).cast(type::float32);
        expect_one_layer(flat.quantize(type::uint8, 0.004F, 3), std::string("fully connected with fp16 ") + function);
        auto planes = convolution().cast(type::float32).mul(0x1p-4F).mul(0x1p-8F).then("Relu").cast(type::float16);
        expect_one_layer(planes.then(function).cast(type::float32).quantize(type::int8, 0.0078F),
                std::string("convolution with ReLU and fp16 ") + function);
    }
}

TEST(fusion, operands_in_either_order) {
    graph_builder b({type::uint8, {rows, inner}});
    b.then("MatMulInteger", {b.weights({inner, columns}, inner * columns)});
    b.node_of("Add", {b.constant<std::int32_t>(type::int32, {1, columns}, {1, 2, 3, 4, 5}), b.last});
    b.cast(type::float32);
    b.node_of("Mul", {b.constant<float>(type::float32, {columns}, {0.5F, 0.25F, 0.1F, 0.01F, 0.03F}), b.last});
    b.node_of("Mul", {b.number(0x1p-5F), b.last});
    expect_one_layer(b.quantize(type::int8), "fully connected");
}

TEST(fusion, zero_points_and_padding) {
    graph_builder b({type::uint8, {2, 3, 6, 7}});
    const auto x_zero_point = b.constant<std::uint8_t>(type::uint8, {}, {7});
    const auto w_zero_point = b.constant<std::int8_t>(type::int8, {}, {-3});
    b.then("ConvInteger", {b.weights({4, 3, 3, 3}, 108), x_zero_point, w_zero_point},
            {{"pads", std::vector<std::int64_t> {1, 2, 1, 0}}});
    b.then("Add", {b.constant<std::int32_t>(type::int32, {4, 1, 1}, {2147483647, -2000, 30, 0})});
    expect_one_layer(b.cast(type::float32).mul(0.004F).quantize(type::int8), "convolution");
}

TEST(fusion, several_matrices_of_weights) {
    graph_builder b({type::int8, {2, rows, inner}});
    b.then("MatMulInteger",
            {b.weights({2, inner, columns}, 2 * inner * columns), b.constant<std::int8_t>(type::int8, {}, {5})});
    b.then("Add", {b.constant<std::int32_t>(type::int32, {columns}, {100, -2000, 30, 0, 5000})});
    expect_one_layer(b.cast(type::float32).mul(0.01F).quantize(type::int8), "fully connected");
}

TEST(fusion, convolutions_one_after_another) {
    auto b = convolution();
    b.cast(type::float32).mul(0.004F).then("Relu").quantize(type::uint8);
    b.then("ConvInteger", {b.weights({6, 4, 2, 2}, 96)}).cast(type::float32).mul(0.002F).quantize(type::int8);
    const auto both = b.last;
    b.then("ConvInteger", {b.weights({2, 6, 1, 1}, 12)}).cast(type::float32).mul(0.01F).quantize(type::int8);
    auto alone = b;
    const auto g = b.finished();
    EXPECT_EQ(patterns_of(g), (std::vector<std::string> {"convolution with ReLU", "convolution", "convolution"}));
    expect_same_bits(g);
    alone.last = both; // an inner value that is also an output, as ONNX allows
    alone.finished();
    alone.last = b.last;
    expect_same_bits(alone.finished());
}

TEST(fusion, by_any_scale_and_zero_point) {
    expect_one_layer(rescaled().quantize(type::int8, 2), "fully connected");
    expect_one_layer(rescaled().quantize(type::uint8, 1, 1), "fully connected");
    expect_one_layer(product().cast(type::float32).quantize(type::int8, 1000, -3), "fully connected");
    auto by_columns = product().cast(type::float32);
    const auto scales = by_columns.constant<float>(type::float32, {columns}, {100, 200, 300, 77, 1});
    const auto zero_points = by_columns.constant<std::int8_t>(type::int8, {columns}, {1, -2, 3, 0, 127});
    expect_one_layer(by_columns.then("QuantizeLinear", {scales, zero_points}), "fully connected");
    auto by_filters = convolution().cast(type::float32).mul(0.01F);
    const auto of_filters = by_filters.constant<float>(type::float32, {4}, {0.5F, 0.25F, 3, 1});
    expect_one_layer(by_filters.then("QuantizeLinear",
                             {of_filters, by_filters.constant<std::int8_t>(type::int8, {4}, {1, -2, 3, 0})}),
            "convolution");
}

TEST(fusion, other_operators_of_floats) {
    auto b = product().cast(type::float32).then("Relu").mul(0.01F);
    b.then("Add", {b.constant<float>(type::float32, {columns}, {1, -2, 0.3F, 0, 5.5F})});
    const auto twice = b.last;
    b.then("Relu").then("Mul", {twice}); // a value times what a function makes of it
    const auto g = b.quantize(type::int8, 4).finished();
    EXPECT_EQ(patterns_of(g), std::vector<std::string> {"fully connected with ReLU"});
    EXPECT_FALSE(parse(g).stages().front().rescale);
    expect_same_bits(g);
}

TEST(fusion, with_a_scale_that_comes_with_the_run) {
    const auto sums_and_scale = [](const dims &shape) {
        auto b = product();
        b.g.inputs.push_back({"s", type::float32, shape});
        return b;
    };
    auto b = sums_and_scale({}).cast(type::float32).then("Mul", {"s"}).quantize(type::int8);
    const auto g = b.finished();
    const auto stages = parse(g).stages();
    ASSERT_EQ(stages.size(), 1U);
    ASSERT_EQ(stages.front().inputs.size(), 2U);
    EXPECT_EQ(stages.front().inputs.back().name, "s");
    EXPECT_FALSE(stages.front().rescale);
    expect_same_bits(g);

    auto c = sums_and_scale({1}).cast(type::float32);
    const auto real = c.last;
    c.node_of("Mul", {"s", c.constant<float>(type::float32, {columns}, {0.5F, 0.25F, 0.1F, -1, 3})});
    expect_one_layer(c.node_of("Mul", {real, c.last}).quantize(type::uint8, 0.5F, 7), "fully connected");

    auto late = sums_and_scale({1}).cast(type::float32); // the scale is computed after the product's place
    const auto before = late.last;
    late.node_of("Relu", {"s"});
    const auto of_late = late.node_of("Mul", {before, late.last}).quantize(type::int8).finished();
    EXPECT_EQ(patterns_of(of_late), (std::vector<std::string> {"Relu", "fully connected"}));
    expect_same_bits(of_late);
}

TEST(fusion, of_nothing) {
    graph_builder b({type::uint8, {0, inner}});
    b.then("MatMulInteger", {b.weights({inner, columns}, inner * columns)});
    expect_one_layer(b.cast(type::float32).mul(0.01F).quantize(type::int8), "fully connected");
}

// ---- Descriptions of stages ----

TEST(fusion, tells_what_a_layer_is) {
    const auto stage = parse(rescaled().then("Relu").quantize(type::int8).finished()).stages().front();
    EXPECT_EQ(stage.name, "MatMulInteger_1");
    EXPECT_EQ(stage.nodes.size(), 7U);
    EXPECT_EQ(stage.nodes.back(), "node 'QuantizeLinear_7' (QuantizeLinear)");
    EXPECT_EQ(stage.note, "");
    ASSERT_EQ(stage.inputs.size(), 1U);
    EXPECT_EQ(stage.inputs.front().name, "x");
    EXPECT_EQ(stage.outputs.front().type, type::int8);
    EXPECT_EQ(stage.outputs.front().shape, (dims {rows, columns}));
    ASSERT_TRUE(stage.rescale);
    EXPECT_EQ(stage.rescale->multipliers, std::vector<float> {11184810});
    EXPECT_EQ(stage.rescale->shifts, std::vector<float> {0x1p-34F});
    EXPECT_TRUE(stage.rescale->folded);
}

TEST(fusion, rescales_by_the_multipliers_right_behind_cast) {
    auto b = product().cast(type::float32);
    const auto sums = b.last;
    b.node_of("Mul", {b.constant<float>(type::float32, {}, {-2}), sums}).mul(0.5F).then("Relu").mul(3);
    const auto stage = parse(b.quantize(type::int8).finished()).stages().front();
    EXPECT_EQ(stage.note, "not folded: Mul 'c2': expected positive multipliers, given -2");
    ASSERT_TRUE(stage.rescale);
    EXPECT_EQ(stage.rescale->multipliers, std::vector<float> {-2});
    EXPECT_EQ(stage.rescale->shifts, std::vector<float> {0.5F});
}

TEST(fusion, notes_multipliers_that_do_not_fit) {
    constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::string positive = ": expected positive multipliers, given ",
                      no_scale = "Quant_scale 'c2': expected integers of at most 2^24, given ",
                      no_shift = "not folded: Quant_shift 'c3': expected powers of two of at most 1, given ";
    struct row {
        std::vector<float> multipliers;
        std::string note;
        bool is_folded = false;
    };
    const row table[] = {{{3, 0.001F}, no_shift + "0.001"}, {{3, 2}, no_shift + "2"},
            {{1.5F, 0x1p-9F}, no_scale + "1.5", true}, {{0x1p24F + 2, 0x1p-30F}, no_scale + "16777218", true},
            {{-3, 0x1p-9F}, "Mul 'c2'" + positive + "-3", true},
            {{3, -0x1p-9F}, "not folded: Mul 'c3'" + positive + "-0.001953125"},
            {{-0.01F}, "Mul 'c2'" + positive + "-0.01"}, {{0}, "Mul 'c2'" + positive + "0"},
            {{infinity}, "Mul 'c2'" + positive + "inf"}, {{nan}, "Mul 'c2'" + positive + "nan"}};
    for (const auto &[multipliers, note, is_folded] : table)
        for (const auto relu : {false, true}) {
            auto b = product().cast(type::float32);
            for (const auto multiplier : multipliers)
                b.mul(multiplier);
            if (relu) b.then("Relu");
            const auto g = b.quantize(type::int8).finished();
            const auto stages = parse(g).stages();
            ASSERT_EQ(stages.size(), 1U);
            EXPECT_EQ(stages.front().note, note);
            EXPECT_EQ(stages.front().rescale->folded, is_folded) << note;
            expect_same_bits(g);
        }
}

/// The warning for a column of `many` weights, all w, by x of uint8, and a bias.
std::string warning_of(std::int64_t many, std::int8_t w, std::int32_t bias, bool fused = true) {
    graph_builder b({type::uint8, {1, many}});
    b.then("MatMulInteger",
            {b.constant(type::int8, {many, 1}, std::vector<std::int8_t>(static_cast<std::size_t>(many), w))});
    b.then("Add", {b.constant(type::int32, {1}, std::vector {bias})}).cast(type::float32).mul(0.01F);
    if (fused) b.quantize(type::int8);
    return parse(b.finished()).stages().front().warning;
}

TEST(fusion, warns_that_sums_may_wrap) {
    constexpr std::int64_t many = 65794; // the least that 255 * 128 takes beyond 2^31 - 1
    EXPECT_EQ(warning_of(many, -128, 0), "sums may reach 2147516160, beyond 2147483647, where they wrap");
    EXPECT_EQ(warning_of(many, -128, 0, false), "sums may reach 2147516160, beyond 2147483647, where they wrap");
    EXPECT_EQ(warning_of(many, 1, -1000),
            "sums by any weights may reach 2147517160, beyond 2147483647; by these weights they stay within 16778470");
    EXPECT_EQ(warning_of(1, 127, 2147451262),
            "sums by any weights may reach 2147483902, beyond 2147483647; by these "
            "weights they stay within 2147483647"); // 127 * 255 and the bias
    EXPECT_EQ(warning_of(1, 127, -2147451263), "sums may reach 2147483648, beyond 2147483647, where they wrap");
    EXPECT_EQ(warning_of(1, 127, 2147450000), "");
}

TEST(fusion, warns_of_each_channel_by_its_own_weights) {
    graph_builder b({type::int8, {1, 3, 1, 1}});
    b.then("ConvInteger", {b.constant<std::int8_t>(type::int8, {2, 3, 1, 1}, {1, 2, -3, -128, 127, 0})});
    b.then("Add", {b.constant<std::int32_t>(type::int32, {2, 1, 1}, {2147450000, -2000000000})});
    // 128 * (1 + 2 + 3) and its bias. The other channel's 128 * (128 + 127) and bias have a smaller magnitude.
    EXPECT_EQ(parse(b.cast(type::float32).mul(0.01F).quantize(type::int8).finished()).stages().front().warning,
            "sums by any weights may reach 2147499152, beyond 2147483647; by these weights they stay within "
            "2147450768");
}

TEST(fusion, warns_of_each_matrix_by_its_own_zero_points) {
    graph_builder b({type::uint8, {2, 1, 1}});
    b.then("MatMulInteger",
            {b.constant<std::int8_t>(type::int8, {2, 1, 2}, {1, 1, 1, 1}),
                    b.constant<std::uint8_t>(type::uint8, {}, {0}),
                    b.constant<std::int8_t>(type::int8, {2, 1, 2}, {0, 0, 0, -128})});
    b.then("Add", {b.constant<std::int32_t>(type::int32, {2}, {0, 2147450000})});
    // 255 * (127 + 128) and the bias; 255 * (1 + 128) and the bias
    EXPECT_EQ(parse(b.cast(type::float32).mul(0.01F).quantize(type::int8).finished()).stages().front().warning,
            "sums by any weights may reach 2147515025, beyond 2147483647; by these weights they stay within "
            "2147482895");
}

// ---- Nodes that are nearly a layer ----

TEST(fusion, not_where_a_value_is_wanted_elsewhere) {
    auto b = product();
    const auto sums = b.last;
    b.finished();
    expect_not_fused(b.cast(type::float32).mul(0.01F).quantize(type::int8),
            "value '" + sums + "' is also an output of the graph");

    auto c = product().cast(type::float32);
    const auto real = c.last;
    c.mul(0.01F).quantize(type::int8).finished();
    c.last = real;
    expect_not_fused(c.then("Relu"), "value 'v3': expected one node that takes it, given 2");
}

TEST(fusion, by_itself) {
    auto square = product().cast(type::float32).mul(0.01F);
    square.then("Mul", {square.last});
    expect_one_layer(square.quantize(type::int8), "fully connected");
}

TEST(fusion, not_by_multipliers_that_are_no_constants) {
    auto by_run = product().cast(type::float32); // of one value it is a scale of x
    by_run.g.inputs.push_back({"m", type::float32, dims {columns}});
    by_run.then("Mul", {"m"});
    expect_not_fused(by_run.quantize(type::int8), "node 'Mul_4' (Mul): expected a constant beside 'v3', given 'm'");
}

TEST(fusion, not_where_an_activation_is_not_quantized) {
    expect_not_fused(product().cast(type::float32).cast(type::float16).then("Tanh").cast(type::float32),
            "value 'v6' is an output of the graph");
}

TEST(fusion, half_of_a_layer_when_the_activation_is_another) {
    // Tanh's result is not quantized.
    auto b = rescaled().quantize(type::int8).dequantize(type::int8, 0.03F).then("Tanh");
    auto by_columns = b;
    const auto g = b.finished();
    EXPECT_EQ(patterns_of(g), (std::vector<std::string> {"fully connected", "DequantizeLinear", "Tanh"}));
    expect_same_bits(g);

    const auto scales = by_columns.constant(type::float32, {columns}, std::vector<float>(columns, 1 / 127.F));
    const auto zero_points = by_columns.constant(type::int8, {columns}, std::vector<std::int8_t>(columns));
    const auto of_columns = by_columns.then("QuantizeLinear", {scales, zero_points}).finished();
    EXPECT_EQ(patterns_of(of_columns),
            (std::vector<std::string> {"fully connected", "DequantizeLinear", "Tanh", "QuantizeLinear"}));
    expect_same_bits(of_columns);
}

} // namespace
} // namespace dynquant::models
