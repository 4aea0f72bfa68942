// Codified models keep the float model's meaning: biases belong to columns, sums stay within int32, names stay unique.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "codify_support.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

using namespace test;

/// y = x W + B, where x is [4, 2], W is [2, 4] and B has the given shape.
float_model with_bias(const char *product, const dims &shape) {
    float_model m;
    m.g.inputs = {{"x", 1, dims {4, 2}}};
    m.computes("x", {4, 2})
            .constant("w", {2, 4}, {1.27F, 1, 1, 1, 1, 1, 1, 1})
            .constant("b", shape, std::vector<float>(static_cast<std::size_t>(*volume(shape)), 1));
    if (product == std::string("Gemm")) return m.add("Gemm", {"x", "w", "b"}, "y", {4, 4});
    return m.add("MatMul", {"x", "w"}, "p", {4, 4}).add("Add", {"b", "p"}, "y", {4, 4});
}

TEST(codify_bounds, a_bias_is_one_value_or_one_for_each_column) {
    for (const char *product : {"MatMul", "Gemm"})
        for (const auto &shape : std::vector<dims> {{}, {1}, {4}, {1, 1}, {1, 4}})
            EXPECT_EQ(elements<std::int32_t>(codify(with_bias(product, shape).g, usual, {}).model, "y_bias"),
                    (std::vector<std::int32_t> {5000, 5000, 5000, 5000})); // 1 / 0.0002
}

TEST(codify_bounds, a_bias_for_each_row_is_refused) {
    EXPECT_EQ(message_of(with_bias("MatMul", {4, 1}).g),
            "node 'the_Add' (Add): bias 'b': expected one value, or one for each of 4 columns, given shape 4x1");
    EXPECT_EQ(message_of(with_bias("Gemm", {4, 1}).g),
            "node 'the_Gemm' (Gemm): bias 'b': expected one value, or one for each of 4 columns, given shape 4x1");
    EXPECT_EQ(message_of(with_bias("Gemm", {4, 4}).g),
            "node 'the_Gemm' (Gemm): bias 'b': expected one value, or one for each of 4 columns, given shape 4x4");
}

TEST(codify_bounds, an_add_that_makes_more_rows_is_refused) {
    auto m = with_bias("MatMul", {4, 1});
    for (const char *value : {"x", "p"})
        m.g.value_types[value].shape.front() = 1;
    EXPECT_EQ(message_of(m.g),
            "node 'the_Add' (Add): bias 'b': expected one value, or one for each of 4 columns, given shape 4x1");
}

TEST(codify_bounds, factors_of_gemm_must_stay_finite) {
    auto m = with_bias("Gemm", {4});
    m.g.nodes.front().attributes = {{"alpha", 3e38F}};
    EXPECT_EQ(message_of(m.g),
            "node 'the_Gemm' (Gemm): attribute 'alpha': expected finite products, given 3e+38 and 1.27");
}

// ---- Sums ----

/// An upper bound of the magnitude of each column's sums, where |x| is at most `most`.
std::vector<std::int64_t> bounds_of(const graph &g, std::int64_t most, bool has_bias) {
    const auto weights = elements<std::int8_t>(g, "y_weights");
    const auto columns = static_cast<std::size_t>(g.initializers.at("y_weights").what.shape[1]);
    std::vector<std::int64_t> bounds(columns);
    for (std::size_t i = 0; i < weights.size(); ++i)
        bounds[i % columns] += std::abs(std::int64_t {weights[i]}) * most;
    if (!has_bias) return bounds;
    const auto bias = elements<std::int32_t>(g, "y_bias");
    for (std::size_t c = 0; c < columns; ++c)
        bounds[c] += std::abs(std::int64_t {bias[c]});
    return bounds;
}

TEST(codify_bounds, large_biases_make_weights_coarser) {
    for (const float bias : {430000.0F, 430000.7F, 1e6F, 3e9F, 1e38F}) {
        auto m = fully_connected();
        m.constant("b", {2}, {bias, -0.002F});
        const auto result = codify(m.g, {{"x", {-2.54F, 1}}, {"y", {-1, bias}}}, {});
        const auto bounds = bounds_of(result.model, 128, true);
        const auto most = *std::ranges::max_element(bounds);
        EXPECT_LE(most, 2147483647) << bias;
        EXPECT_GE(static_cast<double>(most), 2147483647 / 1.011) << bias; // no coarser than necessary
        const double scale = bias / static_cast<double>(elements<std::int32_t>(result.model, "y_bias")[0]) / 0.02;
        EXPECT_EQ(elements<std::int8_t>(result.model, "y_weights")[0], std::nearbyint(1.27F / scale)) << bias;
        ASSERT_EQ(result.notes.size(), 1U);
        EXPECT_TRUE(result.notes[0].starts_with("node 'the_MatMul' (MatMul): sums with their biases would go beyond "
                                                "int32: scales of the weights are up to "))
                << result.notes[0];
    }
    auto fits = fully_connected();
    fits.constant("b", {2}, {425000, -0.002F}); // 2125000000, and 128 * 152 of the weights
    const auto result = codify(fits.g, {{"x", {-2.54F, 1}}, {"y", {-1, 425000}}}, {});
    EXPECT_TRUE(result.notes.empty());
    EXPECT_EQ(elements<std::int8_t>(result.model, "y_weights")[0], 127);
}

TEST(codify_bounds, scales_of_other_channels_stay) {
    auto m = fully_connected();
    m.constant("b", {2}, {1e6F, 1});
    codify_options opts;
    opts.per_channel = true;
    const auto g = codify(m.g, {{"x", {-2.54F, 1}}, {"y", {-1, 1e6F}}}, opts).model;
    const auto weights = elements<std::int8_t>(g, "y_weights");
    EXPECT_LT(weights[0], 127);
    EXPECT_EQ(weights[1], -127);
    EXPECT_EQ(elements<std::int32_t>(g, "y_bias")[1], 12700); // 1 / (0.5 / 127 * 0.02)
}

TEST(codify_bounds, long_products_make_weights_coarser) {
    constexpr std::int64_t many = 70000; // times 127 * 255 is beyond int32 by a factor of 1.0556
    float_model m;
    m.g.inputs = {{"x", 1, dims {1, many}}};
    m.computes("x", {1, many})
            .constant("w", {many, 1}, std::vector<float>(many, 1))
            .add("MatMul", {"x", "w"}, "y", {1, 1});
    const auto [g, notes] = codify(m.g, {{"x", {0, 1}}, {"y", {0, 70000}}}, {});
    EXPECT_EQ(elements<std::int8_t>(g, "y_weights").front(), 119); // of 120 that are possible
    EXPECT_LE(bounds_of(g, 255, false).front(), 2147483647);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(notes[0].starts_with("node 'the_MatMul' (MatMul): sums with their biases would go beyond int32: scales "
                                     "of the weights are up to 1.06"))
            << notes[0];
    const double multiplier = elements<float>(g, "y_quant_scale")[0] * double {elements<float>(g, "y_quant_shift")[0]};
    EXPECT_NEAR(70000.0 * 119 * 255 * multiplier, 127, 1.27); // 70000 is the largest value of y
}

// ---- Names ----

/// Each name is defined once, by an input, an initializer or a node, before a node reads it.
void expect_unique_names(const graph &g) {
    std::set<std::string> values, nodes;
    for (const auto &input : g.inputs)
        EXPECT_TRUE(values.insert(input.name).second) << input.name;
    for (const auto &[name, value] : g.initializers)
        EXPECT_TRUE(values.insert(name).second) << name;
    for (const auto &n : g.nodes) {
        EXPECT_TRUE(nodes.insert(n.name).second) << n.name;
        for (const auto &input : n.inputs)
            EXPECT_TRUE(values.contains(input)) << n.name << " takes " << input;
        for (const auto &output : n.outputs)
            EXPECT_TRUE(values.insert(output).second) << output;
    }
    for (const auto &output : g.outputs)
        EXPECT_TRUE(values.contains(output.name)) << output.name;
}

/// y = tanh(x W + B), whose values are renamed.
graph renamed(const std::map<std::string, std::string> &names) {
    auto m = fully_connected_and("Tanh");
    const auto rename = [&](std::string &name) {
        if (const auto at = names.find(name); at != names.end()) name = at->second;
    };
    for (auto *ports : {&m.g.inputs, &m.g.outputs})
        for (auto &port : *ports)
            rename(port.name);
    for (auto &n : m.g.nodes) {
        std::ranges::for_each(n.inputs, rename);
        std::ranges::for_each(n.outputs, rename);
    }
    for (const auto &[from, to] : names) {
        m.computes(to, {1, 2});
        if (auto constant = m.g.initializers.extract(from)) {
            constant.key() = to;
            m.g.initializers.insert(std::move(constant));
        }
    }
    return m.g;
}

TEST(codify_bounds, new_names_differ_from_those_of_the_model) {
    for (const auto *taken : {"one", "zero_s8", "zero_u8", "y_product", "y_scale", "y_input_quantized", "y_integer",
                 "y_weights", "x_quantized"})
        for (const auto *from : {"x", "y", "p", "b"}) {
            const auto g = renamed({{from, taken}});
            value_ranges ranges;
            for (const auto &value : values_to_calibrate(g))
                ranges[value] = {-1, 1};
            const auto result = codify(g, ranges, {});
            expect_unique_names(result.model);
            EXPECT_EQ(result.model.inputs, g.inputs);
            EXPECT_EQ(result.model.outputs, g.outputs);
        }
}

TEST(codify_bounds, layers_with_similar_names_have_separate_values) {
    auto m = fully_connected_and("Tanh", "a");
    m.add("MatMul", {"a", "w"}, "s2", {1, 2}).add("Tanh", {"s2"}, "a_input", {1, 2});
    m.add("MatMul", {"a_input", "w"}, "y", {1, 2});
    const auto g = codify(m.g,
            {{"x", {-1, 1}}, {"s", {-2, 2}}, {"a", {-1, 1}}, {"s2", {-1, 1}}, {"a_input", {-1, 1}}, {"y", {-1, 1}}}, {})
                           .model;
    expect_unique_names(g);
    EXPECT_FLOAT_EQ(elements<float>(g, "a_input_scale")[0], 2.0F / 127);   // of the first Tanh's input
    EXPECT_FLOAT_EQ(elements<float>(g, "a_input_scale_2")[0], 1.0F / 127); // of the second Tanh's result
}

TEST(codify_bounds, an_input_that_is_an_output_stays) {
    auto m = fully_connected();
    m.g.outputs.push_back(m.g.inputs.front());
    const auto g = codify(m.g, usual, {}).model;
    expect_unique_names(g);
    EXPECT_EQ(g.nodes.size(), codify(fully_connected().g, usual, {}).model.nodes.size());
}

} // namespace
} // namespace dynquant::models
