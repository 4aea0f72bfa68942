// Weight-only layers of graphs: which weights they have, and why other products are none.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "elements/ceil_div.hpp"
#include "graph_builder.hpp"
#include "layers/match/describe.hpp"

namespace dynquant::layers::match {
namespace {

/// y = Gemm(x, (w - z) s), of which w is 4x5, or its transpose.
builder narrow(bool is_transposed = false) {
    builder b;
    b.add("x", data_type::f32, dims {3, 4});
    b.add_bytes("w", is_transposed ? dims {5, 4} : dims {4, 5}, 7);
    b.add_floats("s", {});
    b.add_bytes("z", {}, 9);
    b.add("wf", data_type::f32, is_transposed ? dims {5, 4} : dims {4, 5});
    b.then("DequantizeLinear", {"w", "s", "z"}, {"wf"});
    b.add("y", data_type::f32, dims {3, 5});
    b.then("Gemm", {"x", "wf"}, {"y"}).attributes["transB"] = std::int64_t {is_transposed};
    return b;
}

weight_only_description weight_only_of(const builder &b) {
    return describe_weight_only(b.g, *b.find().found);
}

TEST(weight_only_match, weight_only_weights_have_scales_of_all_of_columns_rows_or_blocks) {
    for (const bool is_transposed : {false, true}) {
        const std::int64_t inner = is_transposed ? 1 : 0;
        auto b = narrow(is_transposed);
        auto w = weight_only_of(b).weights;
        EXPECT_EQ(w.is_transposed, is_transposed);
        EXPECT_EQ((dims {w.inner, w.columns, w.block, w.scale_columns}), (dims {4, 5, 4, 1}));
        EXPECT_EQ(w.type, data_type::u8);
        EXPECT_EQ(w.scales, std::vector {0.5F});
        EXPECT_EQ(w.zero_points, std::vector {9});

        b.add_floats("s", {5});
        b.add_bytes("z", {5}, 8);
        b.g.nodes.front().attributes["axis"] = 1 - inner;
        w = weight_only_of(b).weights;
        EXPECT_EQ((dims {w.block, w.scale_columns}), (dims {4, 5}));
        EXPECT_EQ(w.zero_points, std::vector(5, 8));

        b.add_floats("s", {4});
        b.add_bytes("z", {4}, 8);
        b.g.nodes.front().attributes["axis"] = inner - 2;
        w = weight_only_of(b).weights;
        EXPECT_EQ((dims {w.block, w.scale_columns}), (dims {1, 1}));

        b.add_floats("s", is_transposed ? dims {5, 2} : dims {2, 5}, 0);
        b.add_bytes("z", is_transposed ? dims {5, 2} : dims {2, 5}, 8);
        b.g.nodes.front().attributes["block_size"] = std::int64_t {3}; // the second block is short
        w = weight_only_of(b).weights;
        EXPECT_EQ((dims {w.block, w.scale_columns}), (dims {3, 5}));
        EXPECT_EQ(w.scales,
                is_transposed ? (std::vector<float> {0, 2, 4, 6, 8, 1, 3, 5, 7, 9})
                              : (std::vector<float> {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));

        b.add_floats("s", is_transposed ? dims {3, 2} : dims {2, 3}, 0);
        b.add_bytes("z", is_transposed ? dims {3, 2} : dims {2, 3}, 8);
        b.g.nodes.front().attributes[column_group] = std::int64_t {2}; // the third group has one column
        w = weight_only_of(b).weights;
        EXPECT_EQ((dims {w.block, w.scale_columns, w.column_group}), (dims {3, 3, 2}));
        EXPECT_EQ(w.scales,
                is_transposed ? (std::vector<float> {0, 2, 4, 1, 3, 5}) : (std::vector<float> {0, 1, 2, 3, 4, 5}));
    }
}

/// y = MatMulNBits(x), with scales 0.5, 1.5, ... of blocks of 16 rows.
builder packed(std::int64_t inner, std::int64_t columns, std::int64_t bits, const std::vector<std::uint8_t> &codes,
        const std::vector<std::uint8_t> &zero_points = {}) {
    builder b;
    const auto blocks = ceil_div(inner, std::int64_t {16});
    b.add("x", data_type::f32, dims {3, inner});
    b.add_constant("w", data_type::u8, {columns, blocks, 2 * bits}, codes);
    b.add_floats("s", {columns, blocks});
    if (!zero_points.empty()) b.add_constant("z", data_type::u8, {std::ssize(zero_points)}, zero_points);
    b.add("y", data_type::f32, dims {3, columns});
    auto &n = b.then("MatMulNBits", {"x", "w", "s", zero_points.empty() ? "" : "z"}, {"y"});
    n.what = op::mat_mul_nbits;
    n.attributes = {{"K", inner}, {"N", columns}, {"bits", bits}, {"block_size", std::int64_t {16}}};
    return b;
}

TEST(weight_only_match, mat_mul_nbits_pads_the_last_block_and_zero_points_of_a_column) {
    std::vector<std::uint8_t> codes(2 * 2 * 8); // of 20 rows, nibbles that count from 0 on, and from 3
    for (std::uint8_t i = 0; i < 32; ++i)
        codes[i] = static_cast<std::uint8_t>(
                i < 16 ? (2 * i % 16) | (2 * i + 1) % 16 << 4 : ((2 * i + 3) % 16) | (2 * i + 4) % 16 << 4);
    const auto d = weight_only_of(packed(20, 2, 4, codes, {0x21, 0x43}));
    const auto &w = d.weights;
    EXPECT_EQ((dims {w.inner, w.columns, w.block, w.scale_columns}), (dims {20, 2, 16, 2}));
    EXPECT_EQ(w.type, data_type::u4);
    EXPECT_TRUE(w.is_transposed);
    EXPECT_FALSE(w.quantizes_x);
    EXPECT_EQ(w.scales, (std::vector {0.5F, 2.5F, 1.5F, 3.5F}));
    EXPECT_EQ(w.zero_points, (std::vector {1, 3, 2, 4}));
    const std::vector<std::uint8_t> expected {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, // 20 nibbles
            0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f, 0x21, 0x43, 0x65};
    ASSERT_EQ(d.copy.size(), expected.size());
    EXPECT_EQ(std::memcmp(w.data, expected.data(), expected.size()), 0);
}

TEST(weight_only_match, mat_mul_nbits_of_2_bits_has_nibbles) {
    const auto d = weight_only_of(packed(16, 1, 2, {0xe4, 0xe4, 0xe4, 0x1b})); // 0, 1, 2, 3, ..., and 3, 2, 1, 0
    const std::vector<std::uint8_t> expected {0x10, 0x32, 0x10, 0x32, 0x10, 0x32, 0x23, 0x01};
    EXPECT_EQ(d.weights.type, data_type::u4);
    EXPECT_EQ(d.weights.zero_points, std::vector {2});
    ASSERT_EQ(d.copy.size(), expected.size());
    EXPECT_EQ(std::memcmp(d.weights.data, expected.data(), expected.size()), 0);
}

TEST(weight_only_match, mat_mul_nbits_lies_as_it_is_where_it_can) {
    auto b = packed(32, 2, 8, std::vector<std::uint8_t>(64, 7));
    const auto d = weight_only_of(b);
    EXPECT_EQ(d.weights.data, b["w"].known->data);
    EXPECT_EQ(d.weights.type, data_type::u8);
    EXPECT_EQ(d.weights.zero_points, std::vector(4, 128));
}

TEST(weight_only_match, says_why_mat_mul_nbits_is_left) {
    const auto why = [](auto change) {
        auto b = packed(20, 2, 4, std::vector<std::uint8_t>(32));
        change(b);
        return b.find().reason;
    };
    const auto attribute = [&](const char *name, std::int64_t value) {
        return why([&](builder &b) { b.g.nodes.front().attributes[name] = value; });
    };
    EXPECT_EQ(why([](builder &) {}), "");
    EXPECT_EQ(attribute("bits", 3), "attribute 'bits': expected 2, 4 or 8, given 3");
    for (const std::int64_t block : {8, 24, 0, -16})
        EXPECT_EQ(attribute("block_size", block),
                "attribute 'block_size': expected a power of two from 16 on, given " + std::to_string(block));
    EXPECT_EQ(attribute("block_size", std::int64_t {1} << 31),
            "attribute 'block_size': expected a power of two from 16 on, given 2147483648");
    EXPECT_EQ(attribute("K", 0), "attribute 'K': expected a positive number, given 0");
    EXPECT_EQ(attribute("N", 3), "input 'B': expected shape 3x2x8, given 2x2x8");
    EXPECT_EQ(why([](builder &b) { b["x"].type = data_type::bf16; }), "its input is neither float nor float16");
    EXPECT_EQ(why([](builder &b) { b.add_floats("x", {3, 20}); }), "its input is constant");
    EXPECT_EQ(why([](builder &b) { b["w"].type = data_type::s8; }), "its weights are of type s8");
    EXPECT_EQ(why([](builder &b) { b.add_floats("s", {2}); }), "input 'scales': expected shape 2x2, given 2");
    const auto with = [&](std::size_t input, const char *name, auto add) {
        return why([&](builder &b) {
            auto &inputs = b.g.nodes.front().inputs;
            inputs.resize(input + 1, none);
            add(b);
            b.g.nodes.front().inputs[input] = b.at(name);
        });
    };
    EXPECT_EQ(with(3, "z", [](builder &b) { b.add_bytes("z", {3}); }),
            "input 'zero_points': expected shape 2x1, given 3");
    for (const float first : {-1.0F, 13.0F, 0.5F}) // four of them, of which one is none of 0 to 15
        EXPECT_EQ(with(3, "z",
                          [=](builder &b) {
                              b.add_floats("z", {2, 2}, first);
                          }),
                "input 'zero_points': expected whole numbers of 4 bits");
    EXPECT_EQ(with(3, "z", [](builder &b) { b.add_floats("z", {2, 2}, 12); }), "");
    EXPECT_EQ(with(4, "g", [](builder &b) { b.add_integers("g", {20}); }), "it has an input 'g_idx'");
    EXPECT_EQ(with(5, "c", [](builder &b) { b.add_floats("c", {3}); }), "input 'bias': expected one for each column");
    for (const std::size_t input : {0U, 1U, 2U})
        EXPECT_EQ(why([=](builder &b) { b.g.nodes.front().inputs[input] = none; }), "no product");
}

TEST(weight_only_match, x_is_quantized_by_blocks_of_integers_alone) {
    auto b = packed(32, 2, 8, std::vector<std::uint8_t>(64, 7));
    const auto &product = b.g.nodes.front();
    auto w = weights_of(b.g, product);
    w.block = 32;
    EXPECT_TRUE(may_quantize_x(b.g, product, w));
    auto other = w;
    other.column_group = 2;
    EXPECT_FALSE(may_quantize_x(b.g, product, other));
    other = w;
    other.block = 33;
    EXPECT_FALSE(may_quantize_x(b.g, product, other));
    other = w;
    other.scales = scales_of::columns;
    EXPECT_FALSE(may_quantize_x(b.g, product, other));
    auto convolution = product;
    convolution.what = op::conv;
    EXPECT_FALSE(may_quantize_x(b.g, convolution, w));
    b["w"].type = data_type::f8_e4m3;
    EXPECT_FALSE(may_quantize_x(b.g, product, w));
}

TEST(weight_only_match, scales_repeat_for_the_blocks_of_x) {
    auto b = narrow();
    auto m = *b.find().found;
    m.weights.x_block = 2; // of 4 rows
    auto w = describe_weight_only(b.g, m).weights;
    EXPECT_TRUE(w.quantizes_x);
    EXPECT_EQ((dims {w.block, w.scale_columns}), (dims {2, 5}));
    EXPECT_EQ(w.scales, std::vector(10, 0.5F));
    EXPECT_EQ(w.zero_points, std::vector(10, 9));

    b.add_floats("s", {5});
    b.add_bytes("z", {5}, 8);
    b.g.nodes.front().attributes["axis"] = std::int64_t {1};
    m = *b.find().found;
    m.weights.x_block = 3; // the second block is short
    w = describe_weight_only(b.g, m).weights;
    EXPECT_EQ(w.scales, (std::vector {0.5F, 1.5F, 2.5F, 3.5F, 4.5F, 0.5F, 1.5F, 2.5F, 3.5F, 4.5F}));
    EXPECT_EQ(w.zero_points, std::vector(10, 8));
}

TEST(weight_only_match, weight_only_zero_points_of_4_bits) {
    auto b = narrow();
    b.add_bytes("w", {4, 5}, 0x21, data_type::s4);
    b.add_floats("s", {5});
    b.add_constant("z", data_type::s4, {5}, std::vector<std::uint8_t> {0x81, 0x7f, 0x0e});
    EXPECT_EQ(weight_only_of(b).weights.zero_points, (std::vector {1, -8, -1, 7, -2}));
    b.add_bytes("w", {4, 5}, 0x21, data_type::u4);
    b.add_constant("z", data_type::u4, {5}, std::vector<std::uint8_t> {0x81, 0x7f, 0x0e});
    EXPECT_EQ(weight_only_of(b).weights.zero_points, (std::vector {1, 8, 15, 7, 14}));
}

/// Weights are float16 where DequantizeLinear gives that, to a Cast; with output_dtype float only its scales are.
TEST(weight_only_match, weight_only_scales_of_float16) {
    for (const bool casts : {false, true}) {
        builder b;
        b.add("x", data_type::f32, dims {3, 4});
        b.add_bytes("w", {4, 5}, 7);
        b.add_constant("s", data_type::f16, {5}, std::vector<std::uint16_t> {0x3c00, 0x3800, 0xc000, 0x0001, 0x7bff});
        b.add("wf", casts ? data_type::f16 : data_type::f32, dims {4, 5});
        b.then("DequantizeLinear", {"w", "s"}, {"wf"});
        if (casts) b.cast("wf", "wc");
        b.then("MatMul", {"x", casts ? "wc" : "wf"}, {"y"});
        EXPECT_EQ(b.find().found->nodes.size(), b.g.nodes.size());
        const auto w = weight_only_of(b).weights;
        EXPECT_EQ(w.scales, (std::vector<float> {1, 0.5F, -2, 0x1p-24F, 65504}));
        EXPECT_EQ(w.are_float16, casts);
        b.then("Neg", {"wf"}, {"n"});
        EXPECT_EQ(b.find().reason, "other nodes take its weights 'wf'");
    }
}

TEST(weight_only_match, weight_only_layers_go_on_with_steps) {
    auto b = narrow();
    b.add_floats("c", {5}, 1);
    b.g.nodes.back().inputs.push_back(b.at("c"));
    b.add("r", data_type::f32, dims {3, 5});
    b.then("Relu", {"y"}, {"r"});
    b.add_floats("f", {}, 3);
    b.then("Mul", {"r", "f"}, {"m"});
    b.add("dynamic", data_type::f32, dims {});
    b.then("Mul", {"m", "dynamic"}, {"e"});
    const auto m = *b.find().found;
    EXPECT_EQ(kinds_of(m), (std::vector {kind::add, kind::clip, kind::multiply}));
    EXPECT_EQ(m.nodes, (std::vector<std::size_t> {0, 1, 2, 3}));
    EXPECT_EQ(m.end, "node 'Mul_4' (Mul): expected a constant beside 'm', given 'dynamic'");
    EXPECT_EQ(m.x_scale, none);
}

/// MatMul's result has as many dimensions as x, or an unknown number.
TEST(weight_only_match, constants_add_no_dimensions) {
    const auto nodes = [](std::optional<dims> x, const dims &c) {
        auto b = narrow();
        b["x"].shape = std::move(x);
        b.g.nodes.back().what = op::mat_mul;
        b.add_floats("c", c);
        b.then("Add", {"y", "c"}, {"e"});
        return b.find().found->nodes.size();
    };
    EXPECT_EQ(nodes(dims {2, 3, 4}, {1, 1, 5}), 3U);
    EXPECT_EQ(nodes(dims {3, 4}, {1, 1, 5}), 2U);
    EXPECT_EQ(nodes(std::nullopt, {1, 5}), 2U);
    EXPECT_EQ(nodes(std::nullopt, {5}), 3U);
}

TEST(weight_only_match, says_why_a_product_of_floats_is_no_weight_only_layer) {
    const auto reason = [](auto change) {
        auto b = narrow();
        change(b);
        return b.find().reason;
    };
    using b_ = builder &;
    EXPECT_EQ(reason([](b_ b) { b["s"].known.reset(); }), "'s', of its weights, is no constant");
    EXPECT_EQ(reason([](b_ b) {
        b["w"].known.reset();
        b["w"].is_replaced = true;
    }),
            "'w', of its weights, is replaced by add_initializer");
    EXPECT_EQ(reason([](b_ b) { b["wf"].is_seen_outside = true; }), "other nodes take its weights 'wf'");
    EXPECT_EQ(reason([](b_ b) { b.then("Relu", {"wf"}, {"r"}); }), "other nodes take its weights 'wf'");
    EXPECT_EQ(reason([](b_ b) { b["x"].type = data_type::f16; }), "its input is no float");
    EXPECT_EQ(reason([](b_ b) { b.add_floats("x", {3, 4}); }), "its input is constant");
    for (const std::size_t input : {0U, 1U})
        EXPECT_EQ(reason([=](b_ b) { b.g.nodes.back().inputs[input] = none; }), "no product");
    EXPECT_EQ(reason([](b_ b) { // what makes the weights takes no constant
        b.g.nodes.front().what = op::transpose;
        b["w"].known.reset();
    }),
            "no product");
    // Through a Cast of two, to types that do not hold each of its floats.
    EXPECT_EQ(reason([](b_ b) {
        b["wf"].type = data_type::f16;
        b.cast("wf", "wc");
        b.g.nodes[1].inputs[1] = b.at("wc");
        b["wf"].consumers = {2};
        b["wc"].consumers = {1};
    }),
            "its weights become f16 by scales of type f32");
    EXPECT_EQ(reason([](b_ b) {
        b.cast("wf", "narrow", data_type::bf16);
        b.cast("narrow", "wide");
        b.g.nodes[1].inputs[1] = b.at("wide");
        b["wf"].consumers = {2};
        b["wide"].consumers = {1};
    }),
            "its weights become f32 by scales of type f32");
    EXPECT_EQ(reason([](b_ b) { b["s"].known->type = data_type::bf16; }),
            "its weights become f32 by scales of type bf16");
    EXPECT_EQ(reason([](b_ b) { b["wf"].type = data_type::f16; }), "its weights become f16 by scales of type f32");
    EXPECT_EQ(reason([](b_ b) {
        b["w"].known->type = data_type::f8_e4m3;
        b["z"].known->type = data_type::f8_e4m3;
    }),
            "its weights are float8 with a zero point that is not 0");
    EXPECT_EQ(reason([](b_ b) { b["w"].known->type = data_type::s32; }), "its weights are of type s32");
    EXPECT_EQ(reason([](b_ b) { b.add_bytes("w", {2, 2, 5}); }), "its weights have shape 2x2x5");
    EXPECT_EQ(reason([](b_ b) {
        b.add_floats("s", {3});
        b.add_bytes("z", {3});
    }),
            "the scales of its weights: expected shape 5, given 3");
    EXPECT_EQ(reason([](b_ b) { b.add_bytes("z", {5}); }),
            "the zero points of its weights have shape 5, their scales scalar");
    EXPECT_EQ(reason([](b_ b) { b.g.nodes.back().attributes["transA"] = std::int64_t {1}; }),
            "attribute 'transA': expected 0");
    EXPECT_EQ(reason([](b_ b) {
        b.add_floats("s", {4, 5});
        b.add_bytes("z", {4, 5});
        b.g.nodes.front().attributes["block_size"] = std::int64_t {1};
        b.g.nodes.front().attributes["axis"] = std::int64_t {1};
    }),
            "its weights have blocks along their columns");
}

TEST(weight_only_match, gemm_has_factors) {
    auto b = narrow();
    b.add_floats("c", {5}, 1);
    b.g.nodes.back().inputs.push_back(b.at("c"));
    b.g.nodes.back().attributes = {{"alpha", 0.25F}, {"beta", 3.0F}};
    auto m = *b.find().found;
    EXPECT_EQ(kinds_of(m), (std::vector {kind::multiply, kind::add}));
    EXPECT_EQ(m.post_ops[0].a, std::vector {0.25F});
    EXPECT_EQ(m.post_ops[1].a, (std::vector<float> {3, 6, 9, 12, 15}));
    b.g.nodes.back().attributes["beta"] = 0.0F;
    EXPECT_EQ(kinds_of(*b.find().found), (std::vector {kind::multiply}));
    b.g.nodes.back().inputs.pop_back(); // beta is of what is not there
    m = *b.find().found;
    EXPECT_EQ(kinds_of(m), (std::vector {kind::multiply}));
}

/// Its bias c is made of constant integers bq: -3, -2 and so on.
TEST(weight_only_match, a_bias_may_be_dequantized) {
    const auto with_bias = [](auto change) {
        auto b = narrow();
        b.add_integers("bq", {5});
        b.add_floats("bs", {5}, 1);
        b.add("c", data_type::f32, dims {5});
        b.then("DequantizeLinear", {"bq", "bs"}, {"c"}).attributes["axis"] = std::int64_t {0};
        b.g.nodes[1].inputs.push_back(b.at("c"));
        b["c"].consumers = {1};
        change(b);
        return b.find();
    };
    const auto unchanged = [](builder &) {};
    const auto m = *with_bias(unchanged).found;
    EXPECT_EQ(m.nodes, (std::vector<std::size_t> {0, 1, 2}));
    EXPECT_EQ(m.post_ops.front().a, (std::vector<float> {-3, -4, -3, 0, 5}));
    const auto one_scale = [](builder &b) { b.add_floats("bs", {1}, 2); };
    EXPECT_EQ(with_bias(one_scale).found->post_ops.front().a, (std::vector<float> {-6, -4, -2, 0, 2}));
    const std::string no_constant = "expected a constant beside 'y', given 'c'";
    const auto why = [&](auto change) { return with_bias(change).reason; };
    EXPECT_EQ(why([](builder &b) { b.g.nodes[2].attributes.clear(); }), no_constant); // axis 1
    EXPECT_EQ(why([](builder &b) { b.g.nodes[2].inputs.push_back(b.at("z")); }), no_constant);
    EXPECT_EQ(why([](builder &b) { b.add_bytes("bq", {5}); }), no_constant);
    EXPECT_EQ(why([](builder &b) { b.add_integers("bq", {1}); }), no_constant);
    EXPECT_EQ(why([](builder &b) { b["bs"].known.reset(); }), no_constant);
    EXPECT_EQ(why([](builder &b) { b["bs"].known->type = data_type::f16; }), no_constant);
    EXPECT_EQ(why([](builder &b) { b.add_floats("bs", {2}); }), no_constant);
    EXPECT_EQ(why([](builder &b) { b["c"].type = data_type::f16; }), no_constant);
    EXPECT_EQ(why([](builder &b) { b.g.nodes[2].attributes["block_size"] = std::int64_t {5}; }), no_constant);
    const auto last_axis = [](builder &b) { b.g.nodes[2].attributes["axis"] = std::int64_t {-1}; };
    EXPECT_EQ(with_bias(last_axis).found->post_ops.front().a, (std::vector<float> {-3, -4, -3, 0, 5}));
    EXPECT_EQ(why([](builder &b) { b["c"].is_seen_outside = true; }), no_constant);
    EXPECT_EQ(why([](builder &b) { b.then("Relu", {"c"}, {"r"}); }), no_constant);
}

/// y = Conv(x, (w - 0) s, c), of which w is 6 filters of 4 channels and some taps.
builder convolution(dims kernel) {
    builder b;
    dims w {6, 4};
    w.insert(w.end(), kernel.begin(), kernel.end());
    b.add("x", data_type::f32, std::nullopt);
    b.add_bytes("w", w, 7, data_type::s8);
    b.add_floats("s", {6});
    b.add("wf", data_type::f32, w);
    b.then("DequantizeLinear", {"w", "s"}, {"wf"}).attributes["axis"] = std::int64_t {0};
    b.add_floats("c", {6});
    b.add("y", data_type::f32, std::nullopt);
    b.then("Conv", {"x", "wf", "c"}, {"y"});
    return b;
}

dims extents_of(const weight_only_weights &w) {
    return {w.inner, w.columns, w.block, w.scale_columns};
}

TEST(weight_only_match, a_convolution_of_one_tap_is_weight_only) {
    auto b = convolution({1, 1});
    auto d = weight_only_of(b);
    EXPECT_TRUE(d.is_convolution && d.weights.is_transposed);
    EXPECT_EQ(extents_of(d.weights), (dims {4, 6, 4, 6}));
    EXPECT_EQ(d.post_ops.size(), 1U);
    EXPECT_EQ(d.kernel, dims {});
    b.g.nodes.back().attributes["strides"] = std::vector<std::int64_t> {2, 1};
    d = weight_only_of(b);
    EXPECT_EQ(d.kernel, (dims {1, 1}));
    EXPECT_EQ(d.window.strides, (dims {2, 1}));
    // What ONNX does not have is refused with the window.
    b.g.nodes.back().attributes = {{"kernel_shape", std::vector<std::int64_t> {3, 3}}};
    EXPECT_EQ(weight_only_of(b).window.kernel_shape, (dims {3, 3}));
    b.g.nodes.back().attributes = {{"auto_pad", std::string("SAME_LEFT")}};
    EXPECT_EQ(weight_only_of(b).window.auto_pad, "SAME_LEFT");
    b.g.nodes.back().attributes = {{"auto_pad", std::string("SAME_UPPER")}};
    EXPECT_EQ(weight_only_of(b).kernel, dims {});
}

TEST(weight_only_match, convolutions_have_the_taps_of_a_channel_together) {
    auto b = convolution({3, 2});
    b.g.nodes.back().attributes = {{"group", std::int64_t {2}}, {"auto_pad", std::string("SAME_LOWER")},
            {"dilations", std::vector<std::int64_t> {1, 2}}, {"pads", std::vector<std::int64_t> {1, 2, 3, 4}},
            {"kernel_shape", std::vector<std::int64_t> {3, 2}}};
    auto d = weight_only_of(b);
    EXPECT_EQ(extents_of(d.weights), (dims {24, 6, 24, 6}));
    EXPECT_EQ(d.kernel, (dims {3, 2}));
    EXPECT_EQ(d.groups, 2);
    EXPECT_EQ(d.x_rank, 4U);
    EXPECT_EQ(d.window.auto_pad, "SAME_LOWER");
    EXPECT_EQ(d.window.dilations, (dims {1, 2}));
    EXPECT_EQ(d.window.pads, (dims {1, 2, 3, 4}));
    EXPECT_EQ(d.window.kernel_shape, (dims {3, 2}));
    b.add_floats("s", {});
    d = weight_only_of(b);
    EXPECT_EQ(extents_of(d.weights), (dims {24, 6, 24, 1}));
}

TEST(weight_only_match, convolutions_of_several_taps_have_no_scales_of_channels) {
    const char *const reason = "expected one scale, or one for each filter, of a Conv of several taps or groups";
    auto b = convolution({3, 2});
    b.add_floats("s", {4});
    b.g.nodes.front().attributes["axis"] = std::int64_t {1};
    EXPECT_EQ(b.find().reason, reason);
    b.add_floats("s", {6, 2, 3, 2});
    b.g.nodes.front().attributes["block_size"] = std::int64_t {2};
    EXPECT_EQ(b.find().reason, reason);
    b = convolution({1});
    b.add_floats("s", {4});
    b.g.nodes.front().attributes["axis"] = std::int64_t {1};
    b.g.nodes.back().attributes["strides"] = std::vector<std::int64_t> {2};
    EXPECT_EQ(extents_of(weight_only_of(b).weights), (dims {4, 6, 1, 1}));
    b.g.nodes.back().attributes["group"] = std::int64_t {2};
    EXPECT_EQ(b.find().reason, reason);
    EXPECT_EQ(convolution({}).find().reason, "its weights have shape 6x4");
}

TEST(weight_only_match, the_bias_of_a_convolution_is_floats_of_each_filter) {
    const char *const reason = "its bias 'c' is no constant float for each filter";
    auto b = convolution({1, 1});
    b.add_floats("c", {4});
    EXPECT_EQ(b.find().reason, reason);
    b.add_floats("c", {6});
    b["c"].known->type = data_type::f16;
    EXPECT_EQ(b.find().reason, reason);
    b["c"].known.reset();
    EXPECT_EQ(b.find().reason, reason);
}

TEST(weight_only_match, leaves_nodes_of_other_layers) {
    const auto b = narrow();
    EXPECT_EQ(find_layer(b.g, 1, {true, false}).reason, "other nodes take its weights 'wf'");
}

} // namespace
} // namespace dynquant::layers::match
