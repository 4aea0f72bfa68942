// Layers of graphs: what belongs to one, why others do not, that the nodes of one are the same layer alone, and how
// nodes are described.
#include <utility>

#include <gtest/gtest.h>

#include "layer_graphs.hpp"
#include "layers/match/describe.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {
namespace {

TEST(layer_match, goes_from_what_quantizes_to_bytes) {
    builder b;
    b.add("x", data_type::f32, std::nullopt);
    b.add("q", data_type::u8, std::nullopt);
    b.add("s", data_type::f32, dims {});
    b.add("z", data_type::u8, dims {});
    b.then("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
    b.add_bytes("w", {5, 2, 3, 3});
    b.then("ConvInteger", {"q", "w", "z"}, {"sums"});
    b.add_integers("bias", {5, 1, 1});
    b.then("Add", {"bias", "sums"}, {"biased"});
    b.cast("biased", "f");
    b.add_floats("w_scale", {5, 1, 1});
    b.then("Mul", {"w_scale", "s"}, {"scales"});
    b.then("Mul", {"f", "scales"}, {"scaled"});
    b.then("Relu", {"scaled"}, {"r"});
    b.add_floats("y_scale", {});
    b.add_bytes("y_zero_point", {}, 3);
    quantize(b, "r", "y", data_type::u8);
    const auto m = b.find().found;
    ASSERT_TRUE(m);
    EXPECT_EQ(m->nodes, (std::vector<std::size_t> {0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(m->quantize, 0U);
    EXPECT_EQ(m->product, 1U);
    EXPECT_EQ(m->x, b.at("x"));
    EXPECT_EQ(m->x_scale, b.at("s"));
    EXPECT_EQ(m->x_zero_point, b.at("z"));
    EXPECT_EQ(m->y, b.at("y"));
    EXPECT_EQ(m->bias, (std::vector<std::int32_t> {-3, -2, -1, 0, 1}));
    EXPECT_EQ(kinds_of(*m),
            (std::vector {kind::scale, kind::clip, kind::divide, kind::round, kind::add, kind::saturate}));
    EXPECT_EQ(m->post_ops.front().a, (std::vector {0.5F, 1.5F, 2.5F, 3.5F, 4.5F}));
    EXPECT_EQ(m->result, result_type::bytes);
    EXPECT_EQ(m->end, "");
}

/// Products of one x, quantized by rows: each one's sums become floats times x's scale.
builder rows(std::int64_t block_size, int products) {
    builder b;
    b.add("q", data_type::u8, dims {3, 4});
    b.add("z", data_type::u8, dims {3, 1});
    b.add("s", data_type::f32, dims {3, 1});
    auto &quantize = b.then("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
    quantize.what = op::dynamic_quantize_rows;
    quantize.attributes["block_size"] = block_size;
    for (int i = 0; i < products; ++i) {
        const auto of = std::to_string(i);
        b.add_bytes("w" + of, {4, 5}, 7, data_type::s8);
        b.add("sums" + of, data_type::s32, dims {3, 5});
        b.then("MatMulInteger", {"q", "w" + of, "z"}, {"sums" + of});
        b.cast("sums" + of, "f" + of);
        b.then("Mul", {"f" + of, "s"}, {"y" + of});
    }
    return b;
}

std::vector<layer_match> layers_of(const builder &b) {
    std::vector<layer_match> layers;
    for (std::size_t i = 0; i < b.g.nodes.size(); ++i)
        if (is_product(b.g.nodes[i])) layers.push_back(*find_layer(b.g, i, std::vector<bool>(b.g.nodes.size())).found);
    return layers;
}

row_scales row_scales_of(const builder &b, const std::vector<layer_match> &layers) {
    return find_row_scales(b.g, 0, layers, layers_by_node(b.g, layers));
}

TEST(layer_match, takes_what_quantizes_rows) {
    for (const std::int64_t block_size : {4, 100}) {
        auto b = rows(block_size, 1);
        const auto m = *b.find().found;
        EXPECT_EQ(m.nodes, (std::vector<std::size_t> {0, 1, 2, 3}));
        EXPECT_TRUE(m.scales_by_row);
        EXPECT_EQ(m.quantize, 0U);
        EXPECT_EQ(m.x, b.at("x"));
        const auto d = describe(b.g, m);
        EXPECT_TRUE(d.scales_by_row && d.post_ops.front().what == kind::scale && !d.x_zero_point);
    }
}

TEST(layer_match, leaves_zero_points_of_other_blocks) {
    const std::string reason = "the zero points of its input have shape 3x1";
    EXPECT_EQ(rows(2, 1).find().reason, reason); // two blocks in a row
    for (const char *output : {"q", "s"}) {
        auto b = rows(4, 1);
        b[output].type = output == std::string("q") ? data_type::s8 : data_type::f16;
        EXPECT_EQ(b.find().reason, reason);
    }
    auto b = rows(4, 1);
    b["x"].type = data_type::f16;
    EXPECT_EQ(b.find().reason, reason);
    b = rows(4, 1);
    b.g.nodes.front().outputs.pop_back();
    EXPECT_EQ(b.find().reason, reason);
    b = rows(4, 1);
    b.add_bytes("one", {}, 9);
    b.g.nodes[1].inputs.back() = b.at("one");
    EXPECT_FALSE(b.find().found.value().scales_by_row);
}

/// A model may leave out the name of an output that no node takes.
TEST(layer_match, what_quantizes_may_give_no_zero_point) {
    for (const auto what : {op::dynamic_quantize_linear, op::dynamic_quantize_rows}) {
        auto b = rows(4, 1);
        b.g.nodes.front().what = what;
        b.g.nodes.front().outputs.back() = none;
        b.g.nodes[1].inputs.pop_back();
        if (what == op::dynamic_quantize_linear) b["s"].shape = dims {};
        const auto layers = layers_of(b);
        EXPECT_EQ(layers.front().quantize, 0U);
        EXPECT_EQ(layers.front().x_zero_point, none);
        EXPECT_EQ(row_scales_of(b, layers).layers, std::vector<std::size_t> {0});
        EXPECT_EQ(row_scales_of(b, layers).reason, "");
    }
}

/// DynamicQuantizeLinear's scale is a tensor of floats, too.
TEST(layer_match, leaves_what_quantizes_where_its_scale_is_added) {
    auto b = rows(4, 1);
    b.g.nodes.front().what = op::dynamic_quantize_linear;
    b["z"].shape = b["s"].shape = dims {};
    b["s"].is_summand = true;
    b.g.nodes.back().what = op::add;
    const auto m = b.find().found.value();
    EXPECT_EQ(m.tensor, b.at("s"));
    EXPECT_EQ(m.quantize, none);
}

TEST(layer_match, finds_the_layers_that_share_what_quantizes) {
    auto b = rows(4, 3);
    auto layers = layers_of(b);
    EXPECT_EQ(layers[0].quantize, none);
    auto found = row_scales_of(b, layers);
    EXPECT_EQ(found.layers, (std::vector<std::size_t> {0, 1, 2}));
    EXPECT_EQ(found.reason, "");
    layers.pop_back();
    EXPECT_EQ(row_scales_of(b, layers).reason,
            "node 'MatMulInteger_7' (MatMulInteger) reads it, which takes no scales of rows");
}

TEST(layer_match, says_why_x_keeps_one_scale) {
    const auto reason = [](builder b) { return row_scales_of(b, layers_of(b)).reason; };
    auto b = rows(4, 2);
    b["s"].is_seen_outside = true;
    EXPECT_EQ(reason(b), "'s' is read outside of the graph");
    b = rows(4, 2);
    b.then("Shape", {"q"}, {"shape"});
    EXPECT_EQ(reason(b), "node 'Shape_7' (Shape) reads it, which takes no scales of rows");
    b = rows(4, 2);
    b["y1"].is_seen_outside = b["f1"].is_seen_outside = true; // the second layer ends before its scale
    EXPECT_EQ(reason(b), "node 'Mul_6' (Mul) reads it, which takes no scales of rows");
    b = rows(4, 1);
    b.add_bytes("w", {4, 5}, 7, data_type::s8);
    b.then("MatMulInteger", {"q", "w", "z"}, {"sums"});
    EXPECT_EQ(reason(b), "its scale does not multiply the sums of node 'MatMulInteger_4' (MatMulInteger)");
    b = rows(4, 1);
    b.g.nodes.front().what = op::dynamic_quantize_linear; // one scale, and no zero point
    b["z"].shape = b["s"].shape = dims {};
    b.add_bytes("k", {2, 3, 1}, 7, data_type::s8);
    b.then("ConvInteger", {"q", "k", "z"}, {"sums"});
    b.cast("sums", "f");
    b.then("Mul", {"f", "s"}, {"y"});
    EXPECT_EQ(reason(b),
            "node 'MatMulInteger_1' (MatMulInteger) and node 'ConvInteger_4' (ConvInteger) differ in what a row is");
    b = rows(4, 2);
    b.add_floats("x", {3, 4});
    EXPECT_EQ(reason(b), "its input is constant");
    EXPECT_EQ(reason(rows(4, 0)), ""); // nothing takes what it gives
    EXPECT_EQ(row_scales_of(rows(4, 0), {}).layers, std::vector<std::size_t> {});

    // Another product's sums, times its scale; then a tensor is added to them.
    b = rows(4, 1);
    b.g.nodes.front().what = op::dynamic_quantize_linear;
    b["z"].shape = b["s"].shape = dims {};
    auto constant_zero_point = b;
    b.add("other", data_type::u8, dims {3, 4});
    b.add("sums", data_type::s32, dims {3, 5});
    b.then("MatMulInteger", {"other", "w0"}, {"sums"});
    b.cast("sums", "f");
    b.add("y", data_type::f32, dims {3, 5});
    b.then("Mul", {"f", "s"}, {"y"});
    EXPECT_EQ(reason(b), "node 'MatMulInteger_4' (MatMulInteger) does not multiply what it gives");
    b.add("r", data_type::f32, dims {3, 5});
    b["r"].is_summand = true;
    b.then("Add", {"y", "r"}, {"added"});
    EXPECT_EQ(reason(b), "node 'MatMulInteger_4' (MatMulInteger) adds 'r'");

    constant_zero_point.add_bytes("one", {}, 9);
    constant_zero_point.g.nodes[1].inputs.back() = constant_zero_point.at("one");
    constant_zero_point["z"].consumers.clear();
    EXPECT_EQ(reason(constant_zero_point), "");
}

TEST(layer_match, a_bias_is_one_value_or_one_for_each_channel) {
    for (const auto &shape : {dims {}, dims {1}, dims {1, 1}, dims {5}, dims {1, 5}}) {
        auto b = product();
        b.add_integers("bias", shape);
        b.then("Add", {"sums", "bias"}, {"biased"});
        b.cast("biased", "f");
        const auto m = b.find().found;
        ASSERT_TRUE(m);
        EXPECT_EQ(m->bias.size(), static_cast<std::size_t>(shape.empty() ? 1 : shape.back()));
        EXPECT_EQ(m->y, b.at("f"));
        EXPECT_EQ(m->result, result_type::f32);
    }
}

TEST(layer_match, a_slope_is_one_value_or_one_for_each_channel) {
    const auto expect = [](const builder &b, std::size_t slopes) {
        const auto m = b.find().found;
        ASSERT_TRUE(m);
        EXPECT_EQ(kinds_of(*m), std::vector {kind::leaky_relu});
        EXPECT_EQ(m->post_ops.front().a.size(), slopes);
        EXPECT_EQ(m->end, "value 'v': expected one node that takes it, given 0");
    };
    for (const auto &shape : {dims {}, dims {1}, dims {1, 1}, dims {5}, dims {1, 5}}) {
        auto b = floats();
        b.add_floats("slope", shape);
        expect(after(b, "PRelu", {"f", "slope"}), shape.empty() || shape.back() == 1 ? 1 : 5);
    }
    const auto convolution = [](const dims &slope) {
        auto b = inputs_of({5, 2, 3, 3});
        b.then("ConvInteger", {"x", "w"}, {"sums"});
        b.cast("sums", "f");
        b.add_floats("slope", slope);
        return after(b, "PRelu", {"f", "slope"});
    };
    for (const auto &shape : {dims {1}, dims {5, 1, 1}, dims {1, 5, 1, 1}})
        expect(convolution(shape), shape.size() == 1 ? 1 : 5);
    for (const auto &shape : {dims {5}, dims {5, 1}, dims {5, 2, 1}, dims {2, 5, 1, 1}, dims {1, 1, 5, 1, 1}})
        EXPECT_EQ(end_of(convolution(shape)),
                "node 'PRelu_2' (PRelu): 'slope': expected one value, or one for each channel of an unknown shape, "
                "given shape "
                        + to_string(shape));
}

TEST(layer_match, another_add_of_integers_ends_it) {
    const auto add = [](const char *other) {
        auto b = product();
        b.add_integers("row", {3, 1});
        b.add_integers("larger", {2, 1, 5});
        b.add_integers("one", {});
        b.add_floats("float", {});
        return after(b, "Add", {"sums", other});
    };
    const auto expect = [](const builder &b, std::size_t nodes, const std::string &end) {
        const auto m = b.find().found;
        ASSERT_TRUE(m);
        EXPECT_EQ(m->nodes.size(), nodes);
        EXPECT_EQ(m->bias.empty(), nodes == 1);
        EXPECT_EQ(m->result, result_type::s32);
        EXPECT_EQ(m->end, end);
    };
    const std::string at = "node 'Add_1' (Add): ",
                      channels = "expected one value, or one for each channel of shape 3x5";
    expect(add("row"), 1, at + "'row': " + channels + ", given shape 3x1");
    expect(add("larger"), 1, at + "'larger': " + channels + ", given shape 2x1x5");
    expect(add("float"), 1, at + "'float': expected type s32, given f32");
    expect(add("other"), 1, at + "expected a constant beside 'sums', given 'other'");
    expect(after(add("one"), "Add", {"v", "one"}), 2, "after 'v' expected Cast, given node 'Add_2' (Add)");
}

TEST(layer_match, a_scale_of_1_and_a_zero_point_of_0_are_no_steps) {
    using kinds = std::vector<kind>;
    const auto steps = [](float scale, std::uint8_t zero_point) {
        auto b = floats();
        b.add_floats("y_scale", {}, scale);
        b.add_bytes("y_zero_point", {}, zero_point, data_type::s8);
        quantize(b, "f", "y");
        return kinds_of(*b.find().found);
    };
    EXPECT_EQ(steps(1, 0), kinds {kind::saturate});
    EXPECT_EQ(steps(2, 0), (kinds {kind::divide, kind::saturate}));
    EXPECT_EQ(steps(1, 1), (kinds {kind::round, kind::add, kind::saturate}));
    EXPECT_EQ(steps(2, 1), (kinds {kind::divide, kind::round, kind::add, kind::saturate}));
}

TEST(layer_match, subtracts_by_adding) {
    auto b = floats();
    b.add_floats("c", {5}, -1);
    b.then("Sub", {"f", "c"}, {"y"});
    const auto m = *b.find().found;
    EXPECT_EQ(kinds_of(m), std::vector {kind::add});
    EXPECT_EQ(m.post_ops.front().a, (std::vector<float> {1, 0, -1, -2, -3}));
}

TEST(layer_match, leaves_what_quantizes_where_the_zero_point_is_another) {
    for (const char *zero_point : {"z", "other", ""}) {
        auto b = rows(4, 1);
        b.g.nodes.front().what = op::dynamic_quantize_linear;
        b["z"].shape = b["s"].shape = dims {};
        b.add_bytes("other", {}, 9);
        b.g.nodes[1].inputs.back() = b.at(zero_point);
        if (*zero_point != 'z') b["z"].consumers.clear();
        EXPECT_EQ(b.find().found->quantize, zero_point == std::string("other") ? none : 0) << zero_point;
    }
}

TEST(layer_match, leaves_what_quantizes_where_the_scale_is_another) {
    for (const char *scale : {"s", "other"}) {
        auto b = rows(4, 1);
        b.g.nodes.front().what = op::dynamic_quantize_linear;
        b["z"].shape = b["s"].shape = dims {};
        b.add("other", data_type::f32, dims {});
        b.g.nodes.back().inputs.back() = b.at(scale);
        if (*scale == 'o') b["other"].consumers = std::exchange(b["s"].consumers, {});
        const auto m = *b.find().found;
        EXPECT_EQ(m.x_scale, b.at(scale));
        EXPECT_EQ(m.quantize, *scale == 'o' ? none : 0) << scale;
    }
}

/// Attributes are those of ONNX before opset 11.
TEST(layer_match, bounds_of_clip_are_inputs_or_attributes) {
    constexpr auto most = std::numeric_limits<float>::max();
    const auto bounds = [](const names &inputs) {
        auto b = floats();
        b.add_constant("high", data_type::f32, {}, std::vector {3.0F});
        b.then("Clip", inputs, {"y"}).attributes["max"] = 6.0F;
        const auto s = b.find().found->post_ops.front();
        return std::vector {s.a.front(), s.b.front()};
    };
    EXPECT_EQ(bounds({"f"}), (std::vector {-most, 6.0F}));
    EXPECT_EQ(bounds({"f", "", "high"}), (std::vector {-most, 3.0F}));
}

/// Where the shape of the sums is unknown, only axis -1 is surely that of the columns.
TEST(layer_match, a_scale_for_each_channel_is_along_the_last_axis) {
    const auto nodes = [](std::optional<dims> sums, std::int64_t axis) {
        auto b = floats();
        b["sums"].shape = std::move(sums);
        b.add_floats("y_scale", {5});
        b.add_bytes("y_zero_point", {5}, 3, data_type::s8);
        quantize(b, "f", "y");
        b.g.nodes.back().attributes["axis"] = axis;
        return b.find().found->nodes.size();
    };
    for (const std::int64_t axis : {-2, -1, 0, 1}) {
        EXPECT_EQ(nodes(dims {3, 5}, axis), axis == -1 || axis == 1 ? 3U : 2U) << axis;
        EXPECT_EQ(nodes(std::nullopt, axis), axis == -1 ? 3U : 2U) << axis;
    }
}

TEST(layer_match, a_scale_of_x_adds_no_dimensions) {
    for (const auto &shape : {dims {}, dims {1, 1}, dims {1, 1, 1}, dims {1, 5}}) {
        auto b = floats();
        b.add("s", data_type::f32, shape);
        b.then("Mul", {"f", "s"}, {"y"});
        const bool fits = shape.empty() || shape == dims {1, 1};
        EXPECT_EQ(b.find().found->x_scale, fits ? b.at("s") : none) << to_string(shape);
    }
}

TEST(layer_match, says_where_it_ends) {
    auto b = product();
    b["sums"].is_seen_outside = true;
    EXPECT_EQ(end_of(b), "value 'sums' is an output of the graph");
    b.cast("sums", "f");
    EXPECT_EQ(end_of(b), "value 'sums' is also an output of the graph");

    EXPECT_EQ(end_of(floats()), "value 'f': expected one node that takes it, given 0");
    b = after(floats(), "Relu", {"f"});
    b.then("Relu", {"f"}, {"v2"});
    EXPECT_EQ(end_of(b), "value 'f': expected one node that takes it, given 2");

    EXPECT_EQ(end_of(after(product(), "Relu", {"sums"})), "after 'sums' expected Cast, given node 'Relu_1' (Relu)");
    b = product();
    b.cast("sums", "f", std::nullopt);
    EXPECT_EQ(end_of(b), "node 'Cast_1' (Cast): expected a result of f32, given another");
    b = after(floats(), "Abs", {"f"});
    EXPECT_EQ(end_of(b), "after 'f' expected Mul, given node 'Abs_2' (Abs)");
    b.g.nodes.back().name.clear();
    EXPECT_EQ(end_of(b), "after 'f' expected Mul, given node of 'v' (Abs)");
    b.g.nodes.back().outputs = {none};
    EXPECT_EQ(end_of(b), "after 'f' expected Mul, given node (Abs)");
    b = after(floats(), "Relu", {"f"});
    b.then("Abs", {"v"}, {"y"});
    EXPECT_EQ(end_of(b), "after 'v' expected QuantizeLinear, given node 'Abs_3' (Abs)");

    b = floats();
    b.add_floats("c", {3, 1});
    b = after(b, "Mul", {"f", "c"});
    EXPECT_EQ(end_of(b),
            "node 'Mul_2' (Mul): 'c': expected one value, or one for each channel of shape 3x5, given shape 3x1");
    b["f"].shape.reset();
    EXPECT_EQ(end_of(b),
            "node 'Mul_2' (Mul): 'c': expected one value, or one for each channel of an unknown shape, given shape "
            "3x1");
    b = floats();
    b.add_floats("c", {});
    for (const std::string op : {"Div", "Sub", "PRelu"})
        EXPECT_EQ(end_of(after(b, op.c_str(), {"c", "f"})),
                "node '" + op + "_2' (" + op + "): expected 'f' as its first input");
    EXPECT_EQ(end_of(after(floats(), "PRelu", {"f", "slope"})),
            "node 'PRelu_2' (PRelu): expected a constant beside 'f', given 'slope'");
    EXPECT_EQ(end_of(after(floats(), "Clip", {"f", "low"})),
            "node 'Clip_2' (Clip): 'low': expected a constant float of one value");
    b = floats();
    b.add_integers("low", {});
    EXPECT_EQ(end_of(after(b, "Clip", {"f", "low"})),
            "node 'Clip_2' (Clip): 'low': expected a constant float of one value");
    b = after(floats(), "BiasGelu", {"f", "bias"});
    b.g.nodes.back().what = op::bias_gelu;
    EXPECT_EQ(end_of(b), "node 'BiasGelu_2' (BiasGelu): expected a constant beside 'f', given 'bias'");
    b = floats();
    b.add("half", data_type::f16, dims {});
    EXPECT_EQ(
            end_of(after(b, "Mul", {"f", "half"})), "node 'Mul_2' (Mul): expected a constant beside 'f', given 'half'");
    b["half"].is_summand = true;
    EXPECT_EQ(
            end_of(after(b, "Add", {"f", "half"})), "node 'Add_2' (Add): expected a constant beside 'f', given 'half'");
}

TEST(layer_match, saves_one_value_at_a_time) {
    auto b = floats();
    b.then("HardSwish", {"f"}, {"h"});
    b.then("Mul", {"f", "h"}, {"y"});
    EXPECT_EQ(kinds_of(*b.find().found),
            (std::vector {
                    kind::save, kind::multiply, kind::add, kind::clip, kind::multiply_saved, kind::multiply_saved}));
    b = floats();
    b.then("Relu", {"f"}, {"r"});
    b.then("HardSwish", {"r"}, {"h"});
    b.then("Mul", {"f", "h"}, {"y"});
    EXPECT_EQ(end_of(b), "value 'f': expected one node that takes it, given 2");
}

/// Also within a function of a value.
TEST(layer_match, adds_one_tensor) {
    auto b = floats();
    for (const char *name : {"t1", "t2"}) {
        b.add(name, data_type::f32, dims {3, 5});
        b[name].is_summand = true;
    }
    b.then("Add", {"f", "t1"}, {"a"});
    auto one = b;
    one.then("Mul", {"f", "a"}, {"y"});
    EXPECT_EQ(kinds_of(*one.find().found), (std::vector {kind::save, kind::add_tensor, kind::multiply_saved}));
    b.then("Add", {"a", "t2"}, {"a2"});
    b.then("Mul", {"f", "a2"}, {"y"});
    EXPECT_EQ(end_of(b), "value 'f': expected one node that takes it, given 2");
}

TEST(layer_match, says_why_quantize_linear_ends_it) {
    const auto quantized = [](const dims &scale, const dims &zero_point, data_type to) {
        auto b = floats();
        b.add_floats("y_scale", scale);
        b.add_bytes("y_zero_point", zero_point, 3, to);
        quantize(b, "f", "y", to);
        return b;
    };
    const std::string at = "node 'QuantizeLinear_2' (QuantizeLinear): ";
    EXPECT_EQ(end_of(quantized({}, {}, data_type::s8)), "");
    EXPECT_EQ(end_of(quantized({5}, {5}, data_type::s8)), "");
    EXPECT_EQ(end_of(quantized({3}, {3}, data_type::s8)),
            at + "'y_scale': expected a constant of one value, or of one for each channel");
    EXPECT_EQ(end_of(quantized({5}, {3}, data_type::s8)),
            at + "'y_zero_point': expected a constant of one value, or of one for each channel");
    EXPECT_EQ(end_of(quantized({5}, {1}, data_type::s8)), at + "expected as many zero points as scales, given 1 and 5");
    EXPECT_EQ(end_of(quantized({}, {}, data_type::s16)), at + "expected a result of u8 or s8, given s16");
    auto b = quantized({}, {}, data_type::s8);
    b.g.nodes.back().attributes["block_size"] = std::int64_t {2};
    EXPECT_EQ(end_of(b), at + "attribute 'block_size': expected 0");
    b.g.nodes.back().attributes = {{"precision", std::int64_t {10}}};
    EXPECT_EQ(end_of(b), at + "attribute 'precision': expected f32, given another");
    b = quantized({}, {}, data_type::s8);
    b.add_integers("y_zero_point", {});
    EXPECT_EQ(end_of(b), at + "'y_zero_point': expected a constant of one value, or of one for each channel");
    EXPECT_EQ(end_of(quantized({1, 5}, {}, data_type::s8)),
            at + "'y_scale': expected a constant of one value, or of one for each channel");
    b = floats();
    b.add_floats("c", {});
    b.add("y", data_type::s8, dims {3, 5});
    b.then("QuantizeLinear", {"c", "f"}, {"y"});
    EXPECT_EQ(end_of(b), at + "expected 'f' as its first input");

    b = inputs_of({4, 0}); // no channels
    b.add("sums", data_type::s32, dims {3, 0});
    b.then("MatMulInteger", {"x", "w"}, {"sums"});
    b.cast("sums", "f");
    b.add_floats("y_scale", {});
    b.add_bytes("y_zero_point", {0}, 3, data_type::s8);
    quantize(b, "f", "y");
    EXPECT_EQ(end_of(b), at + "expected as many zero points as scales, given 0 and 1");
    b.add_floats("y_scale", {0});
    EXPECT_EQ(end_of(b), at + "expected as many zero points as scales, given 0 and 0");
}

TEST(layer_match, says_why_a_product_is_none) {
    const auto reason = [](const builder &b) { return b.find().reason; };
    auto b = product();
    EXPECT_EQ(reason(b), "");
    b["x"].type.reset();
    EXPECT_EQ(reason(b), "the type of its input is unknown");
    b["w"].known->type = data_type::s32;
    EXPECT_EQ(reason(b), "its weights are of type s32");
    b["w"].known.reset();
    EXPECT_EQ(reason(b), "its weights 'w' are no constant");
    b["w"].is_replaced = true;
    EXPECT_EQ(reason(b), "its weights 'w' are replaced by add_initializer");

    const auto with_zero_points = [&](const char *op, const dims &weights, const dims &zero_points) {
        auto of = inputs_of(weights);
        of.add_bytes("z", {});
        of.add_bytes("wz", zero_points);
        of.then(op, {"x", "w", "z", "wz"}, {"sums"});
        return reason(of);
    };
    for (const auto &shape : {dims {}, dims {1}, dims {5}, dims {1, 5}})
        EXPECT_EQ(with_zero_points("MatMulInteger", {4, 5}, shape), "");
    for (const auto &shape : {dims {5}, dims {2, 1, 5}})
        EXPECT_EQ(with_zero_points("MatMulInteger", {2, 4, 5}, shape), "");
    EXPECT_EQ(with_zero_points("MatMulInteger", {4}, {1}), "");
    EXPECT_EQ(with_zero_points("MatMulInteger", {4}, {4}), "the zero points of its weights have shape 4");
    EXPECT_EQ(with_zero_points("MatMulInteger", {4, 5}, {5, 1}), "the zero points of its weights have shape 5x1");
    EXPECT_EQ(with_zero_points("MatMulInteger", {4, 5}, {1, 1, 1}), "the zero points of its weights have shape 1x1x1");
    EXPECT_EQ(with_zero_points("MatMulInteger", {}, {}), "its weights have rank 0");
    EXPECT_EQ(with_zero_points("ConvInteger", {5, 2, 3}, {5}), "");
    EXPECT_EQ(with_zero_points("ConvInteger", {5, 2, 3, 1, 1, 1}, {}), "");
    EXPECT_EQ(with_zero_points("ConvInteger", {5, 2}, {}), "its weights have rank 2");
    EXPECT_EQ(with_zero_points("ConvInteger", {5, 2, 3}, {1, 5}), "the zero points of its weights have shape 1x5");

    const auto with_x_zero_point = [&](std::optional<dims> shape) {
        auto of = inputs_of({4, 5});
        of.add("z", data_type::u8, std::move(shape));
        of.then("MatMulInteger", {"x", "w", "z"}, {"sums"});
        return reason(of);
    };
    EXPECT_EQ(with_x_zero_point(dims {}), "");
    EXPECT_EQ(with_x_zero_point(dims {1}), "");
    EXPECT_EQ(with_x_zero_point(dims {3}), "the zero points of its input have shape 3");
    for (const auto &shape : {std::optional<dims> {}, std::optional {dims {-1}}})
        EXPECT_EQ(with_x_zero_point(shape), "whether the zero point of its input is one value is known when it runs");
}

/// A product with a vector has no channels, and perhaps no dimensions.
TEST(layer_match, a_vector_of_weights_is_one_channel) {
    const auto nodes = [](const dims &y, const dims &c) {
        auto b = inputs_of({4});
        b.add("sums", data_type::s32, y);
        b.then("MatMulInteger", {"x", "w"}, {"sums"});
        b.cast("sums", "f");
        b.add_floats("c", c);
        b.then("Add", {"f", "c"}, {"y"});
        return b.find().found->nodes.size();
    };
    EXPECT_EQ(nodes({3}, {}), 3U);
    EXPECT_EQ(nodes({3}, {1}), 3U);
    EXPECT_EQ(nodes({3}, {3}), 2U);
    EXPECT_EQ(nodes({}, {}), 3U);
    EXPECT_EQ(nodes({}, {1}), 2U); // the result has a dimension
}

// What the provider relies on: ONNX Runtime gives the nodes of a layer back as a graph of their own.

bool saves(const layer_match &m) {
    return std::ranges::count(kinds_of(m), kind::save) > 0;
}

/// Calls check(graph, layer, whether each node is taken) for the layers of random graphs, up to a failure. `check` may
/// take nodes.
template <typename Check>
void for_each_layer(unsigned graphs, const Check &check) {
    for (unsigned seed = 0; seed < graphs && !testing::Test::HasFailure(); ++seed) {
        const random_graph random((test::random_source(seed)));
        const auto &g = random.result();
        std::vector<bool> is_taken(g.nodes.size());
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            if (!is_product(g.nodes[i])) continue;
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << label(g, g.nodes[i]));
            if (const auto m = find_layer(g, i, is_taken).found) check(g, *m, is_taken);
        }
    }
}

TEST(layer_match, the_nodes_of_a_layer_alone_are_the_same_layer) {
    int layers = 0, biased = 0, of_bytes = 0, quantizing = 0, scaled = 0, scaled_and_not_quantizing = 0, saved = 0;
    for_each_layer(20000, [&](const graph &g, const layer_match &m, std::vector<bool> &is_taken) {
        for (const auto index : m.nodes) {
            ASSERT_FALSE(is_taken[index]) << "node " << index;
            is_taken[index] = true;
        }
        expect_the_same_alone(g, m);
        ++layers;
        biased += !m.bias.empty();
        of_bytes += m.result == result_type::bytes;
        quantizing += m.quantize != none;
        scaled += m.x_scale != none;
        scaled_and_not_quantizing += m.x_scale != none && m.quantize == none;
        saved += saves(m);
    });
    for (const int count : {biased, of_bytes, quantizing, scaled, scaled_and_not_quantizing, saved})
        EXPECT_GT(count, layers / 50) << layers;
}

/// Whatever the order in which a caller finds layers: each node of one, taken by another, ends it or leaves it out.
/// What is left is the same layer alone.
TEST(layer_match, takes_no_node_of_another_layer) {
    int saved = 0, quantizing = 0, ended = 0;
    for_each_layer(2000, [&](const graph &g, const layer_match &m, std::vector<bool> &is_taken) {
        saved += saves(m);
        quantizing += m.quantize != none;
        for (const auto other : m.nodes) {
            if (other == m.product) continue;
            is_taken[other] = true;
            const auto without = find_layer(g, m.product, is_taken).found;
            ASSERT_TRUE(without);
            ASSERT_EQ(std::ranges::count(without->nodes, other), 0) << label(g, g.nodes[other]);
            expect_the_same_alone(g, *without);
            ended += without->end.ends_with("belongs to another layer");
            is_taken[other] = false;
        }
    });
    EXPECT_GT(saved, 100);
    EXPECT_GT(quantizing, 100);
    EXPECT_GT(ended, 100);
}

// ---- Descriptions ----

TEST(layer_match, describes_one_of_several_matrices) {
    const auto describes = [](const dims &weights) {
        builder b;
        b.add("x", data_type::s8, std::nullopt);
        b.add_bytes("w", weights, 7);
        b.add_bytes("zw", {5}, 250);
        b.then("MatMulInteger", {"x", "w", "", "zw"}, {"sums"});
        return describe(b.g, b.g.nodes.front());
    };
    const auto d = describes({2, 3, 4, 5});
    EXPECT_EQ(d.label, "node 'MatMulInteger_0' (MatMulInteger)");
    EXPECT_FALSE(d.is_convolution);
    EXPECT_TRUE(d.x_is_signed);
    EXPECT_FALSE(d.w_is_signed);
    EXPECT_EQ(d.x_zero_point, 0);
    EXPECT_EQ(d.weights_shape, (dims {4, 5}));
    EXPECT_EQ(d.w_zero_points, std::vector<std::int32_t>(5, 250));
    EXPECT_EQ(describes({4}).weights_shape, (dims {4, 1}));
}

TEST(layer_match, describes_a_zero_point_that_comes_with_the_run) {
    auto b = product();
    b.add_bytes("known", {}, 9);
    b.add("zx", data_type::u8, dims {});
    b.then("MatMulInteger", {"x", "w", "known"}, {"a"});
    b.then("MatMulInteger", {"x", "w", "zx"}, {"b"});
    EXPECT_EQ(describe(b.g, b.g.nodes[1]).x_zero_point, 9);
    EXPECT_EQ(describe(b.g, b.g.nodes[2]).x_zero_point, std::nullopt);
}

TEST(layer_match, describes_a_convolution_by_its_attributes) {
    builder b;
    b.add("x", data_type::u8, dims {1, 4, 9, 9});
    b.add_bytes("w", {6, 2, 3, 3}, 7, data_type::s8);
    b.add("sums", data_type::s32, dims {1, 6, 5, 5});
    using integers = std::vector<std::int64_t>;
    auto &n = b.then("ConvInteger", {"x", "w"}, {"sums"});
    n.attributes = {{"group", std::int64_t {2}}, {"auto_pad", std::string("SAME_LOWER")}, {"strides", integers {2, 1}},
            {"dilations", integers {1, 3}}, {"kernel_shape", integers {3, 3}}};
    b.cast("sums", "f");
    b.add_floats("m", {6, 1, 1});
    b.then("Mul", {"f", "m"}, {"y"});
    const auto d = describe(b.g, *b.find().found);
    EXPECT_TRUE(d.is_convolution);
    EXPECT_TRUE(d.w_is_signed);
    EXPECT_EQ(d.weights_shape, (dims {6, 2, 3, 3}));
    EXPECT_EQ(d.groups, 2);
    EXPECT_EQ(d.window.auto_pad, "SAME_LOWER");
    EXPECT_EQ(d.window.strides, (integers {2, 1}));
    EXPECT_EQ(d.window.dilations, (integers {1, 3}));
    EXPECT_EQ(d.window.kernel_shape, (integers {3, 3}));
    EXPECT_EQ(d.window.pads, integers {});
    ASSERT_EQ(d.post_ops.size(), 1U);
    EXPECT_EQ(d.post_ops.front().a.size(), 6U);
    EXPECT_EQ(d.result, result_type::f32);
}

} // namespace
} // namespace dynquant::layers::match
