// codify() gives the nodes, weights, biases and multipliers that are worked out by hand, or names what it refuses.
#include <cmath>

#include <gtest/gtest.h>

#include "codify_support.hpp"

namespace dynquant::models {
namespace {

using namespace test;

using options = codify_options;

TEST(codify, a_fully_connected_layer_is_figure_1) {
    const auto result = codify(fully_connected().g, usual, {});
    const graph &g = result.model;
    EXPECT_EQ(op_types(g),
            (std::vector<std::string> {"QuantizeLinear", "MatMulInteger", "Add", "Cast", "Mul", "Mul", "QuantizeLinear",
                    "DequantizeLinear"}));
    EXPECT_EQ(elements<std::int8_t>(g, "y_weights"), (std::vector<std::int8_t> {127, -50, 25, 0}));
    EXPECT_EQ(elements<std::int32_t>(g, "y_bias"), (std::vector<std::int32_t> {5000, -10})); // B / 0.0002
    EXPECT_FLOAT_EQ(elements<float>(g, "x_quantized_scale")[0], 0.02F);
    EXPECT_FLOAT_EQ(elements<float>(g, "y_scale")[0], 0.04F);
    // 0.0002 / 0.04 = 0.005, of which 24 bits begin with 2^-8 * 1.28: 0.005 * 2^31 = 10737418.24
    EXPECT_NEAR(elements<float>(g, "y_quant_scale")[0], 10737418, 4); // 0.005, rounded by scales that are floats
    EXPECT_EQ(elements<float>(g, "y_quant_shift")[0], 0x1p-31F);
    EXPECT_TRUE(result.notes.empty());
}

TEST(codify, one_mul_is_the_product_of_two) {
    options opts;
    opts.rescale = options::rescaling::one_mul;
    const auto g = codify(fully_connected().g, usual, opts).model;
    EXPECT_EQ(op_types(g),
            (std::vector<std::string> {
                    "QuantizeLinear", "MatMulInteger", "Add", "Cast", "Mul", "QuantizeLinear", "DequantizeLinear"}));
    EXPECT_FLOAT_EQ(elements<float>(g, "y_quant_multiplier")[0], 0.005F);
}

TEST(codify, each_output_channel_may_have_its_own_scale) {
    options opts;
    opts.per_channel = true;
    opts.rescale = options::rescaling::one_mul;
    const auto g = codify(fully_connected().g, usual, opts).model;
    EXPECT_EQ(elements<std::int8_t>(g, "y_weights"), (std::vector<std::int8_t> {127, -127, 25, 1}));
    const auto multipliers = elements<float>(g, "y_quant_multiplier");
    ASSERT_EQ(multipliers.size(), 2U);
    EXPECT_FLOAT_EQ(multipliers[0], 0.005F);
    EXPECT_FLOAT_EQ(multipliers[1], 0.5F / 127 * 0.02F / 0.04F);
}

TEST(codify, values_that_were_never_negative_are_unsigned) {
    const auto m = fully_connected_and("Relu");
    const auto g = codify(m.g, {{"x", {0, 5.1F}}, {"s", {-1, 5.1F}}, {"y", {0, 5.1F}}}, {}).model;
    EXPECT_FLOAT_EQ(elements<float>(g, "x_quantized_scale")[0], 0.02F); // 5.1 / 255
    EXPECT_FLOAT_EQ(elements<float>(g, "y_scale")[0], 0.02F);
    EXPECT_EQ(g.nodes[6].op_type, "Relu");
    EXPECT_EQ(g.nodes[7].inputs[2], "zero_u8");
}

TEST(codify, factors_of_gemm_go_into_weights_and_bias) {
    float_model m;
    m.constant("w", {2, 2}, {1.27F, 0.25F, -0.5F, 0.004F}).constant("c", {2}, {1, -0.002F});
    m.add("Gemm", {"x", "w", "c"}, "y", {1, 2}, {{"transB", std::int64_t {1}}, {"alpha", 2.0F}, {"beta", 3.0F}});
    const auto g = codify(m.g, usual, {}).model;
    EXPECT_EQ(elements<std::int8_t>(g, "y_weights"), (std::vector<std::int8_t> {127, -50, 25, 0}));
    EXPECT_EQ(elements<std::int32_t>(g, "y_bias"), (std::vector<std::int32_t> {7500, -15})); // 3 B / (2 * 0.0002)
}

TEST(codify, a_convolution_is_figure_3) {
    float_model m;
    m.g.inputs = {{"x", 1, dims {1, 1, 3, 3}}};
    m.computes("x", {1, 1, 3, 3}).constant("w", {2, 1, 1, 1}, {1.27F, -0.5F}).constant("b", {2}, {1, 2});
    m.add("Conv", {"x", "w", "b"}, "y", {1, 2, 3, 3}, {{"pads", std::vector<std::int64_t> {0, 0, 0, 0}}});
    const auto g = codify(m.g, usual, {}).model;
    EXPECT_EQ(g.nodes[1].op_type, "ConvInteger");
    EXPECT_EQ(g.nodes[1].attributes, m.g.nodes[0].attributes);
    EXPECT_EQ(g.initializers.at("y_bias").what.shape, (dims {1, 2, 1, 1}));
    EXPECT_EQ(elements<std::int32_t>(g, "y_bias"), (std::vector<std::int32_t> {5000, 10000}));
}

const value_ranges of_tanh = {{"x", {-2.54F, 1}}, {"s", {-1, 1.27F}}, {"y", {-0.8F, 0.9F}}};

TEST(codify, tanh_of_8_bits_is_figure_4) {
    const auto g = codify(fully_connected_and("Tanh").g, of_tanh, {}).model;
    EXPECT_EQ(op_types(g),
            (std::vector<std::string> {"QuantizeLinear", "MatMulInteger", "Add", "Cast", "Mul", "Mul", "QuantizeLinear",
                    "DequantizeLinear", "Tanh", "QuantizeLinear", "DequantizeLinear"}));
    EXPECT_FLOAT_EQ(elements<float>(g, "y_input_scale")[0], 0.01F);
    EXPECT_FLOAT_EQ(elements<float>(g, "y_scale")[0], 1.0F / 127);
}

TEST(codify, the_input_range_of_tanh_ends_where_it_saturates) {
    auto ranges = of_tanh;
    ranges["s"] = {-100, 100};
    const auto g = codify(fully_connected_and("Tanh").g, ranges, {}).model;
    EXPECT_FLOAT_EQ(elements<float>(g, "y_input_scale")[0], 2.7677F / 127); // tanh(2.7677) = 126.0 / 127 + half a step
}

TEST(codify, tanh_of_float16_is_figure_5) {
    options opts;
    opts.activation = options::precision::fp16;
    opts.rescale = options::rescaling::one_mul;
    const auto g = codify(fully_connected_and("Tanh").g, of_tanh, opts).model;
    EXPECT_EQ(op_types(g),
            (std::vector<std::string> {"QuantizeLinear", "MatMulInteger", "Add", "Cast", "Mul", "Cast", "Tanh", "Cast",
                    "QuantizeLinear", "DequantizeLinear"}));
    EXPECT_FLOAT_EQ(elements<float>(g, "y_quant_multiplier")[0], 0.0002F);
}

TEST(codify, sigmoid_is_unsigned) {
    const auto g = codify(fully_connected_and("Sigmoid").g, of_tanh, {}).model;
    EXPECT_FLOAT_EQ(elements<float>(g, "y_scale")[0], 1.0F / 255);
    EXPECT_EQ(g.nodes[9].inputs[2], "zero_u8");
}

TEST(codify, operators_that_only_move_elements_stay) {
    auto m = fully_connected_and("Reshape", "y", {2}, {"shape"});
    m.g.initializers["shape"] = {{7, {1}}, std::vector<std::byte>(8)};
    const auto g = codify(m.g, {{"x", {-1, 1}}, {"s", {-1, 1}}}, {}).model;
    EXPECT_EQ(g.nodes[7].op_type, "Reshape");
    EXPECT_EQ(g.nodes[7].inputs, (std::vector<std::string> {"s_quantized", "shape"}));
    EXPECT_TRUE(g.initializers.contains("shape"));
    EXPECT_EQ(elements<float>(g, "y_scale"),
            elements<float>(codify(fully_connected().g, {{"x", {-1, 1}}, {"y", {-1, 1}}}, {}).model, "y_scale"));
}

TEST(codify, constant_zero_has_scale_1_and_a_note) {
    auto m = fully_connected();
    m.constant("w", {2, 2}, {0, 0, 0, 0});
    const auto result = codify(m.g, {{"x", {0, 0}}, {"y", {-1, 1}}}, {});
    EXPECT_EQ(elements<float>(result.model, "x_quantized_scale")[0], 1);
    EXPECT_EQ(elements<std::int32_t>(result.model, "y_bias"), (std::vector<std::int32_t> {1, 0}));
    EXPECT_EQ(result.notes,
            (std::vector<std::string> {"value 'x': 0 throughout calibration; its scale is 1",
                    "node 'the_MatMul' (MatMul): all weights are 0; their scale is 1"}));
}

TEST(codify, values_to_calibrate_are_inputs_outputs_and_layers) {
    EXPECT_EQ(values_to_calibrate(fully_connected_and("Tanh").g), (std::vector<std::string> {"x", "s", "y"}));
    EXPECT_EQ(values_to_calibrate(fully_connected().g), (std::vector<std::string> {"x", "y"}));
}

// ---- What is refused ----

TEST(codify, an_activation_that_follows_no_layer_is_refused) {
    float_model m;
    m.add("Relu", {"x"}, "y", {1, 2});
    EXPECT_EQ(message_of(m.g),
            "node 'the_Relu' (Relu): expected it right after a Gemm, MatMul or Conv whose result nothing else takes "
            "(Add: of MatMul, with a constant for each column), given it elsewhere");
}

TEST(codify, weights_must_be_constant_and_finite) {
    auto m = fully_connected();
    m.constant("w", {2, 2}, {1, 2, HUGE_VALF, 3});
    EXPECT_EQ(
            message_of(m.g), "node 'the_MatMul' (MatMul): input 'w': expected finite numbers, given inf at element 2");
    m.g.initializers.erase("w");
    EXPECT_EQ(message_of(m.g),
            "node 'the_MatMul' (MatMul): input 'w': expected an initializer, given a value that is computed");
}

TEST(codify, weights_of_matmul_are_one_matrix) {
    auto m = fully_connected();
    m.constant("w", {1, 2, 2}, {1, 2, 3, 4});
    EXPECT_EQ(message_of(m.g), "node 'the_MatMul' (MatMul): weights 'w': expected 2 dimensions, given shape 1x2x2");
}

TEST(codify, ranges_must_be_given_and_finite) {
    EXPECT_EQ(message_of(fully_connected().g, {{"x", {-1, 1}}}), "value 'y': expected its range, given none");
    EXPECT_EQ(message_of(fully_connected().g, {{"x", {-1, HUGE_VALF}}, {"y", {-1, 1}}}),
            "value 'x': expected finite numbers in calibration, given -1 to inf");
}

TEST(codify, multipliers_are_positive_for_any_ranges) {
    auto zeros = fully_connected();
    zeros.constant("w", {2, 2}, {0, -0.5F, 0, -0.25F});
    for (const auto &ranges : std::vector<value_ranges> {{{"x", {0, 0}}, {"y", {0, 0}}},
                 {{"x", {-2, -1}}, {"y", {-2, -1}}}, {{"x", {-0.0F, 1e-30F}}, {"y", {-1e-30F, 1}}}})
        for (const auto rescale : {options::rescaling::one_mul, options::rescaling::two_mul}) {
            options opts;
            opts.rescale = rescale;
            opts.per_channel = true;
            const auto model = codify(zeros.g, ranges, opts).model;
            for (const char *name : {"y_quant_multiplier", "y_quant_scale", "y_quant_shift"}) {
                if (!model.initializers.contains(name)) continue;
                for (const auto multiplier : elements<float>(model, name))
                    EXPECT_GE(multiplier, 0x1p-126F) << name;
            }
        }
}

TEST(codify, a_rescaling_must_fit_into_a_float) {
    float_model m;
    m.constant("w", {2, 2}, {1.27F, -0.5F, 0.25F, 0.004F}).add("MatMul", {"x", "w"}, "y", {1, 2});
    for (const float x : {1e-30F, 1e30F}) // the multiplier is about 0.01 x^2
        EXPECT_NE(message_of(m.g, {{"x", {-x, 1e-30F}}, {"y", {-1 / x, 0}}})
                          .find("rescale: expected a multiplier of 2^-126 to 2^24, given"),
                std::string::npos)
                << x;
}

} // namespace
} // namespace dynquant::models
