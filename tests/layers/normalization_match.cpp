// LayerNormalization and RMSNormalization behind a product, and residuals before them, in one node or two.
#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "layers/match/describe.hpp"

namespace dynquant::layers::match {
namespace {

/// x (2x3x4 bytes) times w (4x5), its floats f; parameters of 5 columns; and a residual r, of unknown rows.
builder floats() {
    builder b;
    b.add("x", data_type::u8, dims {2, 3, 4});
    b.add_bytes("w", {4, 5}, 7, data_type::s8);
    b.add("sums", data_type::s32, dims {2, 3, 5});
    b.then("MatMulInteger", {"x", "w"}, {"sums"});
    b.cast("sums", "f");
    b.add("r", data_type::f32, dims {-1, -1, 5});
    b["r"].is_summand = true;
    b.add_floats("scale", {5}, 1);
    b.add_floats("bias", {5}, 2);
    b.add_floats("offset", {5}, 3);
    return b;
}

builder after(builder of, op what, const char *name, const names &inputs, const names &outputs = {"y"}) {
    of.then(name, inputs, outputs).what = what;
    return of;
}

std::string end_of(const builder &b) {
    return b.find().found->end;
}

const std::vector<float> ones {1, 2, 3, 4, 5}, twos {2, 3, 4, 5, 6}, threes {3, 4, 5, 6, 7};

TEST(normalization_match, takes_each_form) {
    const struct {
        op what;
        names inputs;
        bool has_mean;
        std::vector<float> bias;
        std::vector<kind> kinds;
        float epsilon;
    } forms[] = {
            {op::layer_normalization, {"f", "scale", "bias"}, true, twos, {}, 1e-5F},
            {op::layer_normalization, {"f", "scale"}, true, {}, {}, 1e-5F},
            {op::rms_normalization, {"f", "scale"}, false, {}, {}, 1e-5F},
            {op::skip_layer_normalization, {"f", "r", "scale", "bias"}, true, twos, {kind::add_tensor}, 1e-12F},
            {op::skip_layer_normalization, {"r", "f", "scale"}, true, {}, {kind::add_tensor}, 1e-12F},
            {op::skip_layer_normalization, {"r", "f", "scale", "bias", "offset"}, true, twos,
                    {kind::add_tensor, kind::add}, 1e-12F},
            {op::skip_rms_normalization, {"f", "r", "scale", "offset"}, false, {}, {kind::add_tensor, kind::add},
                    1e-12F},
    };
    for (const auto &form : forms)
        for (const bool has_epsilon : {false, true}) {
            auto b = after(floats(), form.what, "N", form.inputs);
            if (has_epsilon) b.g.nodes.back().attributes["epsilon"] = 0.25F;
            const auto m = *b.find().found;
            EXPECT_EQ(m.end, "node 'N_2' (N): ends a layer");
            EXPECT_EQ(m.nodes, (std::vector<std::size_t> {0, 1, 2}));
            EXPECT_EQ(m.y, b.at("y"));
            EXPECT_EQ(m.before, none);
            EXPECT_EQ(kinds_of(m), form.kinds);
            EXPECT_EQ(m.tensor, form.kinds.empty() ? none : b.at("r"));
            if (form.kinds.size() == 2) {
                EXPECT_EQ(m.post_ops.back().a, threes);
            }
            const auto by = describe(b.g, m).normalization.value();
            EXPECT_EQ(by.has_mean, form.has_mean);
            EXPECT_EQ(by.epsilon, has_epsilon ? 0.25F : form.epsilon);
            EXPECT_EQ(by.scale, ones);
            EXPECT_EQ(by.bias, form.bias);
        }
}

TEST(normalization_match, takes_a_residual_on_either_side) {
    for (const auto &inputs : {names {"f", "r"}, names {"r", "f"}}) {
        auto b = after(floats(), op::add, "Add", inputs, {"s"});
        b = after(b, op::layer_normalization, "N", {"s", "scale", "bias"});
        const auto m = *b.find().found;
        EXPECT_EQ(m.tensor, b.at("r"));
        EXPECT_EQ(m.before, none);
        EXPECT_EQ(m.y, b.at("y"));
        EXPECT_EQ(kinds_of(m), std::vector {kind::add_tensor});
        EXPECT_TRUE(m.normalization);
    }
}

/// What is normalized goes on to the next residual, or out of the graph.
TEST(normalization_match, gives_what_it_normalizes_where_others_take_it) {
    const auto expect_both = [](builder b, const char *sum) {
        const auto m = *b.find().found;
        EXPECT_EQ(m.before, b.at(sum));
        EXPECT_EQ(m.y, b.at("y"));
        EXPECT_TRUE(m.normalization);
    };
    const auto sum = after(floats(), op::add, "Add", {"f", "r"}, {"s"});
    auto b = after(sum, op::layer_normalization, "N", {"s", "scale", "bias"});
    b["s"].is_seen_outside = true;
    expect_both(b, "s");
    for (const bool is_first : {false, true}) {
        b = sum;
        if (is_first) b.then("Abs", {"s"}, {"others"});
        b = after(b, op::layer_normalization, "N", {"s", "scale", "bias"});
        if (!is_first) b.then("Abs", {"s"}, {"others"});
        expect_both(b, "s");
    }
    b = after(floats(), op::skip_layer_normalization, "N", {"f", "r", "scale"}, {"y", "", "", "s"});
    EXPECT_EQ(b.find().found->before, none); // nobody takes it
    b["s"].is_seen_outside = true;
    expect_both(b, "s");
}

TEST(normalization_match, takes_one_of_two_that_normalize_a_value) {
    auto b = after(floats(), op::layer_normalization, "N", {"f", "scale"}, {"y"});
    b.then("RMSNormalization", {"f", "scale"}, {"y2"});
    const auto m = *b.find().found;
    EXPECT_EQ(m.y, b.at("y"));
    EXPECT_EQ(m.before, b.at("f"));
}

TEST(normalization_match, says_why_it_leaves_one) {
    const auto end = [](op what, const names &inputs, auto change) {
        auto b = after(floats(), what, "N", inputs, {"y", "second", "third", "fourth"});
        change(b);
        return end_of(b);
    };
    const auto nothing = [](builder &) {};
    const std::string at = "node 'N_2' (N): ";
    const names layer {"f", "scale", "bias"}, skip {"f", "r", "scale"};
    const auto with_axis = [](std::int64_t axis) {
        return [axis](builder &b) { b.g.nodes.back().attributes["axis"] = axis; };
    };
    EXPECT_EQ(end(op::layer_normalization, layer, with_axis(2)), at + "ends a layer");
    EXPECT_EQ(end(op::layer_normalization, layer, with_axis(1)), at + "attribute 'axis': expected -1, given 1");
    EXPECT_EQ(end(op::layer_normalization, layer,
                      [](builder &b) {
                          b["f"].shape.reset();
                          b.g.nodes.back().attributes["axis"] = std::int64_t {2};
                      }),
            at + "attribute 'axis': expected -1, given 2");
    auto more = after(floats(), op::add, "Add", {"f", "r"}, {"s"});
    more["s"].shape = dims {-1, 2, 3, 5};
    more = after(more, op::layer_normalization, "N", {"s", "scale"});
    more.g.nodes.back().attributes["axis"] = std::int64_t {2};
    EXPECT_EQ(end_of(more), "node 'N_3' (N): attribute 'axis': expected -1, given 2");
    for (const auto *const result : {"second", "third"})
        EXPECT_EQ(end(op::layer_normalization, layer, [=](builder &b) { b[result].is_seen_outside = true; }),
                at + "expected nobody to take its mean or deviation");
    EXPECT_EQ(end(op::layer_normalization, layer, [](builder &b) { b["scale"].known.reset(); }),
            at + "'scale': expected a constant of 5 floats");
    EXPECT_EQ(end(op::layer_normalization, layer,
                      [](builder &b) {
                          b["bias"].known->shape = {1, 5};
                      }),
            at + "'bias': expected a constant of 5 floats");
    EXPECT_EQ(end(op::layer_normalization, layer, [](builder &b) { b["bias"].known->type = data_type::s32; }),
            at + "'bias': expected a constant of 5 floats");
    EXPECT_EQ(end(op::skip_layer_normalization, skip, [](builder &b) { b["r"].is_summand = false; }),
            at + "'r': expected another tensor of 5 columns");
    EXPECT_EQ(end(op::skip_layer_normalization, skip,
                      [](builder &b) {
                          b["r"].shape = dims {2, 3, 1};
                      }),
            at + "ends a layer"); // it broadcasts to the sums
    EXPECT_EQ(end(op::skip_layer_normalization, skip,
                      [](builder &b) {
                          b["r"].shape = dims {-1, 3, 1};
                      }),
            at + "'r': expected another tensor of 5 columns");
    EXPECT_EQ(end(op::skip_layer_normalization, {"f", "f", "scale"}, nothing),
            "value 'f': expected one node that takes it, given 2");
    // The value is no first input.
    EXPECT_EQ(end(op::layer_normalization, {"r", "f"}, nothing), "after 'f' expected Mul, given node 'N_2' (N)");
    // A layer adds one tensor.
    auto b = after(floats(), op::add, "Add", {"f", "r"}, {"s"});
    b = after(b, op::skip_layer_normalization, "N", {"s", "r", "scale"});
    EXPECT_EQ(end_of(b), "node 'N_3' (N): 'r': expected another tensor of 5 columns, and no Add of one before");
    EXPECT_EQ(b.find().found->y, b.at("s"));
    // The sums stay integers.
    b = builder(floats());
    b.g.nodes.pop_back();
    b["sums"].consumers.clear();
    b = after(b, op::layer_normalization, "N", {"sums", "scale"});
    EXPECT_FALSE(b.find().found->normalization);
}

TEST(normalization_match, a_residual_of_unknown_rows_has_the_columns) {
    const auto takes = [](std::optional<dims> r, std::optional<dims> sums) {
        auto b = after(floats(), op::add, "Add", {"f", "r"}, {"s"});
        b["r"].shape = std::move(r);
        b["sums"].shape = std::move(sums);
        return b.find().found->tensor != none;
    };
    EXPECT_TRUE(takes(dims {2, 3, 5}, dims {2, 3, 5}));
    EXPECT_TRUE(takes(dims {3, 1}, dims {2, 3, 5}));
    EXPECT_FALSE(takes(dims {4, 2, 3, 5}, dims {2, 3, 5})); // the sum would have more elements
    EXPECT_TRUE(takes(dims {4, 2, 3, 5}, std::nullopt));
    EXPECT_FALSE(takes(dims {-1, -1, -1, 5}, dims {-1, -1, 5})); // more dimensions
    EXPECT_FALSE(takes(dims {-1, -1, 5}, dims {-1, 1, 5}));      // perhaps more rows
    EXPECT_TRUE(takes(dims {-1, 1, 5}, dims {-1, 1, 5}));
    EXPECT_TRUE(takes(dims {-1, 5}, dims {2, 3, 5}));
    EXPECT_FALSE(takes(dims {-1, 1}, dims {2, 3, 5}));
    EXPECT_FALSE(takes(dims {2, 3, -1}, dims {2, 3, 5}));
    EXPECT_FALSE(takes(dims {}, std::nullopt));
    EXPECT_FALSE(takes(std::nullopt, dims {2, 3, 5}));
}

TEST(normalization_match, a_convolution_has_none) {
    builder b;
    b.add("x", data_type::u8, dims {1, 2, 5});
    b.add_bytes("w", {5, 2, 1}, 7, data_type::s8);
    b.add("sums", data_type::s32, dims {1, 5, 5});
    b.then("ConvInteger", {"x", "w"}, {"sums"});
    b.cast("sums", "f");
    b.add_floats("scale", {5}, 1);
    b = after(b, op::layer_normalization, "N", {"f", "scale"});
    EXPECT_EQ(end_of(b), "after 'f' expected Mul, given node 'N_2' (N)");
    EXPECT_FALSE(b.find().found->normalization);
}

struct composition {
    bool has_mean = true, squares_by_product = false, has_bias = true, axes_are_input = false;
    enum { by_division, by_quotient_of_one, by_reciprocal } quotient = by_division;
};

/// What exporters write of `f`, whose result is the last value of `normalized`, `scaled` and `y`.
builder composed(const composition &of) {
    auto b = floats();
    b.add_floats("two", {}, 2);
    b.add_floats("one", {1}, 1);
    b.add_floats("epsilon", {}, 0.25F);
    b.add_constant("axes", data_type::s32, {1}, std::vector<std::int64_t> {2}); // ONNX's are of int64
    const auto mean = [&](const char *x, const char *y) {
        auto &n = b.then("ReduceMean", of.axes_are_input ? names {x, "axes"} : names {x}, {y});
        if (!of.axes_are_input) n.attributes["axes"] = std::vector<std::int64_t> {-1};
    };
    const std::string d = of.has_mean ? "d" : "f";
    if (of.has_mean) {
        mean("f", "mean");
        b.then("Sub", {"f", "mean"}, {"d"});
    }
    b.then(of.squares_by_product ? "Mul" : "Pow", {d, of.squares_by_product ? d : "two"}, {"squares"});
    b.add("squares", data_type::f32, dims {2, 3, 5});
    mean("squares", "variance");
    b.then("Add", {"variance", "epsilon"}, {"more"});
    b.then("Sqrt", {"more"}, {"root"});
    if (of.quotient == composition::by_division) {
        b.then("Div", {d, "root"}, {"normalized"});
    } else {
        if (of.quotient == composition::by_reciprocal)
            b.then("Reciprocal", {"root"}, {"inverse"});
        else
            b.then("Div", {"one", "root"}, {"inverse"});
        b.then("Mul", {d, "inverse"}, {"normalized"});
    }
    b.then("Mul", {"scale", "normalized"}, {"scaled"});
    if (of.has_bias) b.then("Add", {"scaled", "bias"}, {"y"});
    return b;
}

TEST(normalization_match, takes_what_older_exporters_write) {
    for (const bool has_mean : {true, false})
        for (const bool squares_by_product : {true, false})
            for (const bool axes_are_input : {true, false})
                for (const auto quotient :
                        {composition::by_division, composition::by_quotient_of_one, composition::by_reciprocal}) {
                    const auto b = composed({has_mean, squares_by_product, has_mean, axes_are_input, quotient});
                    const auto m = *b.find().found;
                    EXPECT_EQ(m.nodes.size(), b.g.nodes.size());
                    EXPECT_EQ(m.end, label(b.g, b.g.nodes.back()) + ": ends a layer");
                    EXPECT_EQ(b.g.values[m.y].name, has_mean ? "y" : "scaled");
                    EXPECT_EQ(m.before, none);
                    EXPECT_TRUE(m.post_ops.empty());
                    const auto &by = m.normalization.value();
                    EXPECT_EQ(by.has_mean, has_mean);
                    EXPECT_EQ(by.epsilon, 0.25F);
                    EXPECT_EQ(by.scale, ones);
                    EXPECT_EQ(by.bias, has_mean ? twos : std::vector<float> {});
                }
    // Without a bias, and one behind a root of squares, which is no part of it.
    EXPECT_EQ(composed({.has_bias = false}).find().found->normalization->bias, std::vector<float> {});
    const auto b = composed({.has_mean = false});
    EXPECT_EQ(b.g.values[b.find().found->y].name, "scaled");
}

TEST(normalization_match, gives_what_several_nodes_normalize) {
    for (const bool is_seen : {true, false}) {
        auto b = composed({});
        if (is_seen)
            b["f"].is_seen_outside = true;
        else
            b.then("Abs", {"f"}, {"others"});
        const auto m = *b.find().found;
        EXPECT_EQ(m.before, b.at("f"));
        EXPECT_EQ(m.y, b.at("y"));
    }
}

TEST(normalization_match, leaves_nodes_of_which_one_is_another) {
    const auto takes = [](const builder &b) { return b.find().found->normalization.has_value(); };
    const auto changed = [](auto change, const composition &of = {}) {
        auto b = composed(of);
        change(b);
        return b;
    };
    const auto node_of = [](builder &b, const char *value) -> node & { return b.g.nodes[b[value].producer]; };
    EXPECT_TRUE(takes(composed({})));
    for (const char *const between :
            {"mean", "d", "squares", "variance", "more", "root", "normalized"}) // not behind the scale
        EXPECT_FALSE(takes(changed([&](builder &b) { b[between].is_seen_outside = true; }))) << between;
    for (const char *const value : {"mean", "squares", "variance", "more", "root", "normalized", "scaled"})
        EXPECT_FALSE(takes(changed([&](builder &b) { node_of(b, value).what = op::other; }))) << value;
    EXPECT_FALSE(takes(changed([&](builder &b) { node_of(b, "mean").inputs.front() = b.at("r"); })));
    for (const bool is_other : {false, true}) // a product by the reciprocal
        EXPECT_FALSE(takes(changed(
                [&](builder &b) {
                    auto &n = node_of(b, "normalized");
                    if (is_other)
                        n.what = op::other;
                    else
                        n.inputs.front() = b.at("r");
                },
                {.quotient = composition::by_reciprocal})));
    EXPECT_FALSE(takes(changed([&](builder &b) { node_of(b, "mean").attributes["keepdims"] = std::int64_t {0}; })));
    for (const auto &axes : {dims {}, dims {1}, dims {0, 2}})
        for (const char *const mean : {"mean", "variance"})
            EXPECT_FALSE(takes(changed([&](builder &b) { node_of(b, mean).attributes["axes"] = axes; })));
    EXPECT_FALSE(takes(changed([&](builder &b) { b["axes"].known.reset(); }, {.axes_are_input = true})));
    EXPECT_FALSE(takes(changed(
            [](builder &b) {
                b.add_constant("axes", data_type::s32, {2}, dims {0, 2});
            },
            {.axes_are_input = true})));
    EXPECT_FALSE(takes(changed([](builder &b) { b["squares"].shape.reset(); }, {.axes_are_input = true})));
    EXPECT_FALSE(takes(changed([&](builder &b) { b.add_floats("two", {}, 3); })));
    EXPECT_FALSE(takes(changed([&](builder &b) { b["epsilon"].known.reset(); })));
    EXPECT_FALSE(takes(changed([&](builder &b) { b.add_floats("epsilon", {5}); })));
    for (const char *const one : {"two", "epsilon"}) // of which the result would have the dimensions
        EXPECT_FALSE(takes(changed([&](builder &b) { b.add_floats(one, {1, 1, 1, 1}, one[0] == 't' ? 2 : 1); })));
    EXPECT_FALSE(takes(changed([&](builder &b) { b.add_floats("scale", {}); })));
    EXPECT_FALSE(takes(
            changed([&](builder &b) { b.add_floats("one", {}, 2); }, {.quotient = composition::by_quotient_of_one})));
    const auto swapped = [&](const char *value) {
        return changed([&](builder &b) { std::swap(node_of(b, value).inputs[0], node_of(b, value).inputs[1]); });
    };
    EXPECT_FALSE(takes(swapped("normalized"))); // root / d
    EXPECT_FALSE(takes(swapped("squares")));    // two to the power of d
    EXPECT_TRUE(takes(swapped("scaled")));
    EXPECT_TRUE(takes(swapped("more")));
    // mean - f: of the squares it is the same, but not of the quotient.
    EXPECT_FALSE(takes(swapped("d")));
    // A bias that is no constant stays behind the layer.
    const auto b = changed([](builder &without) { without["bias"].known.reset(); });
    EXPECT_TRUE(takes(b));
    EXPECT_EQ(b.g.values[b.find().found->y].name, "scaled");
}

TEST(normalization_match, leaves_nodes_of_other_layers) {
    const auto takes_without = [](const builder &b, const char *value) {
        std::vector<bool> is_taken(b.g.nodes.size());
        for (const auto &v : b.g.values)
            if (v.name == value) is_taken[v.producer] = true;
        return find_layer(b.g, 0, is_taken).found.value().normalization.has_value();
    };
    for (const char *const value : {"mean", "d", "squares", "variance", "more", "root", "normalized", "scaled"})
        EXPECT_FALSE(takes_without(composed({}), value)) << value;
    const auto b = after(floats(), op::rms_normalization, "N", {"f", "scale"});
    EXPECT_FALSE(takes_without(b, "y"));
    EXPECT_TRUE(b.find().found->normalization);
}

/// A caller that makes tables of activations makes none of what is normalized.
TEST(normalization_match, no_table_follows_one) {
    const auto b = after(floats(), op::rms_normalization, "N", {"f", "scale"});
    const auto m = b.find([](auto, auto) { return ADD_FAILURE(), std::vector<std::uint8_t>(256); }).found.value();
    EXPECT_TRUE(m.normalization);
    EXPECT_FALSE(m.table);
}

/// Gemm has a bias of its own.
TEST(normalization_match, a_weight_only_layer_has_one) {
    builder b;
    b.add("x", data_type::f32, dims {3, 4});
    b.add_bytes("w", {4, 5}, 7, data_type::s8);
    b.add_floats("w_scale", {}, 0.5F);
    b.add("dequantized", data_type::f32, dims {4, 5});
    b.then("DequantizeLinear", {"w", "w_scale"}, {"dequantized"});
    b.add_floats("offset", {5}, 3);
    b.add("f", data_type::f32, dims {3, 5});
    b.then("Gemm", {"x", "dequantized", "offset"}, {"f"});
    b.add("r", data_type::f32, dims {3, 5});
    b["r"].is_summand = true;
    b = after(b, op::add, "Add", {"r", "f"}, {"s"});
    b.add_floats("scale", {5}, 1);
    b = after(b, op::rms_normalization, "N", {"s", "scale"});
    b.then("Abs", {"s"}, {"others"});
    const auto m = *b.find().found;
    EXPECT_EQ(kinds_of(m), (std::vector {kind::add, kind::add_tensor}));
    EXPECT_EQ(m.before, b.at("s"));
    EXPECT_EQ(describe_weight_only(b.g, m).normalization.value().scale, ones);
}

/// It is saved, and then two tensors are added, of which a layer has one.
TEST(normalization_match, a_value_times_itself_adds_one_residual) {
    auto b = after(floats(), op::add, "Add", {"f", "r"}, {"s"});
    b.add("u", data_type::f32, dims {-1, -1, 5});
    b["u"].is_summand = true;
    auto two = after(b, op::add, "Add", {"s", "u"}, {"t"});
    two.then("Mul", {"f", "t"}, {"y"});
    EXPECT_EQ(two.find().found->tensor, none);
    EXPECT_EQ(two.find().found->y, two.at("f"));
    b.then("Mul", {"f", "s"}, {"y"});
    EXPECT_EQ(kinds_of(*b.find().found), (std::vector {kind::save, kind::add_tensor, kind::multiply_saved}));
}

/// The axis counts the dimensions of the sum.
TEST(normalization_match, quantizes_the_columns_of_a_sum) {
    for (const std::int64_t axis : {-1, 1, 2, 3}) {
        auto b = after(floats(), op::add, "Add", {"f", "r"}, {"s"});
        b["sums"].shape.reset();
        b["s"].shape = dims {-1, -1, -1, 5};
        b.add_bytes("zero_point", {5}, 3, data_type::u8);
        b.add("y", data_type::u8, std::nullopt);
        b.then("QuantizeLinear", {"s", "scale", "zero_point"}, {"y"}).attributes["axis"] = axis;
        EXPECT_EQ(b.find().found->result == result_type::bytes, axis == -1 || axis == 3) << axis;
    }
}

/// Layers that share what quantizes x are to be one node, of which none waits for another.
TEST(normalization_match, layers_that_share_x_add_nothing) {
    builder b;
    b.add("float_x", data_type::f32, dims {3, 4});
    b.add("x", data_type::u8, dims {3, 4});
    b.add("x_scale", data_type::f32, dims {});
    b.add("x_zero_point", data_type::u8, dims {});
    b.then("DynamicQuantizeLinear", {"float_x"}, {"x", "x_scale", "x_zero_point"});
    b.add_bytes("w", {4, 5}, 7, data_type::s8);
    std::vector<layer_match> layers;
    for (const std::string i : {"1", "2"}) {
        b.add("sums" + i, data_type::s32, dims {3, 5});
        b.then("MatMulInteger", {"x", "w", "x_zero_point"}, {"sums" + i});
        b.cast("sums" + i, "f" + i);
        b.add("y" + i, data_type::f32, dims {3, 5});
        b.then("Mul", {"f" + i, "x_scale"}, {"y" + i});
    }
    b["y1"].is_summand = true;
    b.then("Add", {"y2", "y1"}, {"y"});
    for (const std::size_t product : {4U, 1U}) // from the last to the first
        layers.push_back(*find_layer(b.g, product, std::vector<bool>(b.g.nodes.size())).found);
    EXPECT_EQ(layers[0].tensor, none);
    EXPECT_EQ(layers[0].end, "node 'Add_7' (Add): expected a constant beside 'y2', given 'y1'");
    EXPECT_EQ(find_row_scales(b.g, 0, layers, layers_by_node(b.g, layers)).reason, "");
}

} // namespace
} // namespace dynquant::layers::match
