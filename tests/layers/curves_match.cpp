// Functions of one value as exporters write them, in several nodes, and activations that become tables.
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "layer_graphs.hpp"

namespace dynquant::layers::match {
namespace {

// Gelu is x / sqrt(2), Erf, 1 more, times x, times 0.5, as exporters write it, or 0.5 x times that.
TEST(curves_match, takes_gelu_in_all_its_forms) {
    auto b = floats();
    b.add_floats("root", {}, std::sqrt(2.0F));
    b.add_floats("one", {}, 1);
    b.add_floats("half", {}, 0.5F);
    auto half_first = b;
    for (auto *each : {&b, &half_first}) {
        each->then("Div", {"f", "root"}, {"d"});
        each->then("Erf", {"d"}, {"e"});
        each->then("Add", {"e", "one"}, {"a"});
    }
    b.then("Mul", {"f", "a"}, {"m"});
    b.then("Mul", {"m", "half"}, {"y"});
    const std::vector inside {kind::save, kind::divide, kind::erf, kind::add, kind::multiply_saved};
    auto expected = inside;
    expected.push_back(kind::multiply);
    auto m = *b.find().found;
    EXPECT_EQ(kinds_of(m), expected);
    EXPECT_EQ(b.g.values[m.y].name, "y");
    EXPECT_EQ(m.post_ops[4].a, std::vector<float> {});

    half_first.then("Mul", {"half", "f"}, {"h"});
    half_first.then("Mul", {"h", "a"}, {"y"});
    m = *half_first.find().found;
    EXPECT_EQ(kinds_of(m), inside);
    EXPECT_EQ(half_first.g.values[m.y].name, "y");
    EXPECT_EQ(m.post_ops[1].a, std::vector {std::sqrt(2.0F)});
    EXPECT_EQ(m.post_ops[4].a, std::vector {0.5F});
    // Half of x is seen elsewhere.
    half_first["h"].is_seen_outside = true;
    EXPECT_EQ(end_of(half_first), "value 'f': expected one node that takes it, given 2");

    auto one_node = after(floats(), "Gelu", {"f"});
    m = *one_node.find().found;
    EXPECT_EQ(kinds_of(m), inside);
    EXPECT_EQ(m.post_ops[1].a, std::vector {std::sqrt(2.0F)});
    EXPECT_EQ(m.post_ops[4].a, std::vector {0.5F});
    one_node.g.nodes.back().attributes["approximate"] = std::string("sigmoid");
    EXPECT_EQ(end_of(one_node), "node 'Gelu_2' (Gelu): attribute 'approximate': expected none or tanh, given sigmoid");
}

const std::vector tanh_gelu {kind::save, kind::multiply_saved, kind::multiply_saved, kind::multiply, kind::add_saved,
        kind::multiply, kind::tanh, kind::add, kind::multiply_saved};

// (0.5 x) (1 + Tanh(0.797... (x + 0.044715 x^3))), where x^3 is a Pow or two Muls.
TEST(curves_match, takes_gelu_by_tanh_in_all_its_forms) {
    const auto exported = [](bool has_power) {
        auto b = floats();
        for (const auto &[name, value] : std::vector<std::pair<const char *, float>> {
                     {"three", 3}, {"c", 0.044715F}, {"root", 0.797884524F}, {"one", 1}, {"half", 0.5F}})
            b.add_floats(name, {}, value);
        if (has_power) {
            b.then("Pow", {"f", "three"}, {"p"});
        } else {
            b.then("Mul", {"f", "f"}, {"s"});
            b.then("Mul", {"s", "f"}, {"p"});
        }
        b.then("Mul", {"p", "c"}, {"m"});
        b.then("Add", {"f", "m"}, {"a"});
        b.then("Mul", {"a", "root"}, {"r"});
        b.then("Tanh", {"r"}, {"t"});
        b.then("Add", {"t", "one"}, {"o"});
        b.then("Mul", {"f", "half"}, {"h"});
        b.then("Mul", {"h", "o"}, {"y"});
        return b;
    };
    const auto node = after(floats(), "Gelu", {"f"});
    auto by_tanh = node;
    by_tanh.g.nodes.back().attributes["approximate"] = std::string("tanh");
    for (const auto &b : {exported(true), exported(false), by_tanh}) {
        const auto m = *b.find().found;
        EXPECT_EQ(m.nodes.size(), b.g.nodes.size());
        ASSERT_EQ(kinds_of(m), tanh_gelu);
        EXPECT_EQ(m.post_ops[3].a, std::vector {0.044715F});
        EXPECT_EQ(m.post_ops[5].a, std::vector {0.797884524F}); // the root in f32 of 0.636619747, which is 2 / pi
        EXPECT_EQ(m.post_ops[7].a, std::vector {1.0F});
        EXPECT_EQ(m.post_ops[8].a, std::vector {0.5F});
    }
    // Half of x is seen elsewhere, another node takes x, or what functions make of it is seen.
    auto b = exported(true);
    b["h"].is_seen_outside = true;
    EXPECT_EQ(end_of(b), "value 'f': expected one node that takes it, given 3");
    b = exported(true);
    b.then("Abs", {"f"}, {"other"});
    EXPECT_EQ(end_of(b), "value 'f': expected one node that takes it, given 4");
    b = exported(true);
    b["t"].is_seen_outside = true;
    EXPECT_EQ(end_of(b), "value 'f': expected one node that takes it, given 3");
}

// 0.5 (x (1 + Tanh(x (0.797885 + 0.035677 x^2)))), behind a bias or not.
TEST(curves_match, takes_fast_gelu) {
    const std::vector steps {kind::save, kind::multiply_saved, kind::multiply, kind::add, kind::multiply_saved,
            kind::tanh, kind::add, kind::multiply_saved, kind::multiply};
    const auto fast_gelu = [](const names &inputs) {
        auto b = floats();
        b.add_floats("bias", {5});
        b = after(b, "FastGelu", inputs);
        b.g.nodes.back().what = op::fast_gelu;
        return b;
    };
    for (const auto &inputs : {names {"f"}, names {"f", ""}}) {
        const auto m = *fast_gelu(inputs).find().found;
        EXPECT_EQ(kinds_of(m), steps);
        EXPECT_EQ(m.post_ops[2].a, std::vector {0.035677F});
        EXPECT_EQ(m.post_ops[3].a, std::vector {0.797885F});
        EXPECT_EQ(m.post_ops[6].a, std::vector {1.0F});
        EXPECT_EQ(m.post_ops[8].a, std::vector {0.5F});
    }
    auto biased = steps;
    biased.insert(biased.begin(), kind::add);
    const auto m = *fast_gelu({"f", "bias"}).find().found;
    EXPECT_EQ(kinds_of(m), biased);
    EXPECT_EQ(m.post_ops[0].a.size(), 5U);
    EXPECT_EQ(end_of(fast_gelu({"f", "other"})),
            "node 'FastGelu_2' (FastGelu): expected a constant beside 'f', given 'other'");
    EXPECT_EQ(end_of(fast_gelu({"bias", "f"})), "node 'FastGelu_2' (FastGelu): expected 'f' as its first input");
}

// x Sigmoid(alpha x), as several nodes, or one of either domain.
TEST(curves_match, takes_swish_in_all_its_forms) {
    auto nodes = floats();
    nodes.then("Sigmoid", {"f"}, {"s"});
    nodes.then("Mul", {"f", "s"}, {"y"});
    EXPECT_EQ(kinds_of(*nodes.find().found), (std::vector {kind::save, kind::sigmoid, kind::multiply_saved}));
    const auto alpha = [](op what, std::optional<float> given) {
        auto b = after(floats(), "Swish", {"f"});
        b.g.nodes.back().what = what;
        if (given) b.g.nodes.back().attributes["alpha"] = *given;
        const auto m = *b.find().found;
        EXPECT_EQ(kinds_of(m), (std::vector {kind::save, kind::multiply, kind::sigmoid, kind::multiply_saved}));
        return m.post_ops[1].a.front();
    };
    EXPECT_EQ(alpha(op::swish, std::nullopt), 1);
    EXPECT_EQ(alpha(op::swish, 1.5F), 1.5F);
    EXPECT_EQ(alpha(op::quick_gelu, std::nullopt), 1.702F);
    EXPECT_EQ(alpha(op::quick_gelu, 1.0F), 1);
}

TEST(curves_match, takes_curves_and_goes_on_to_bytes) {
    for (const auto &[name, what] : std::vector<std::pair<const char *, kind>> {
                 {"Erf", kind::erf}, {"Tanh", kind::tanh}, {"Sigmoid", kind::sigmoid}}) {
        auto b = after(floats(), name, {"f"});
        EXPECT_EQ(kinds_of(*b.find().found), std::vector {what});
        b.add_floats("y_scale", {}, 1);
        b.add_bytes("y_zero_point", {}, 0, data_type::s8);
        quantize(b, "v", "y");
        EXPECT_EQ(kinds_of(*b.find().found), (std::vector {what, kind::saturate}));
    }
}

TEST(curves_match, takes_powers_of_two_and_three) {
    const auto power = [](float exponent, const dims &shape = {}) {
        auto b = floats();
        b.add_floats("e", shape, exponent);
        return after(b, "Pow", {"f", "e"});
    };
    EXPECT_EQ(kinds_of(*power(2).find().found), (std::vector {kind::save, kind::multiply_saved}));
    EXPECT_EQ(kinds_of(*power(3, {1}).find().found),
            (std::vector {kind::save, kind::multiply_saved, kind::multiply_saved}));
    const std::string at = "node 'Pow_2' (Pow): ";
    EXPECT_EQ(end_of(power(2.5F)), at + "'e': expected 2 or 3, given 2.5");
    EXPECT_EQ(end_of(power(2, {5})), at + "'e': expected a constant float of one value");
    EXPECT_EQ(end_of(after(floats(), "Pow", {"f", "other"})), at + "'other': expected a constant float of one value");
    auto b = floats();
    b.add_floats("e", {}, 2);
    EXPECT_EQ(end_of(after(b, "Pow", {"e", "f"})), at + "expected 'f' as its first input");
}

// Each node of a value's function may take the value again.
TEST(curves_match, adds_and_multiplies_a_value_by_its_function) {
    const auto steps = [](const std::vector<names> &nodes) {
        auto b = floats();
        b.add_floats("c", {}, 2);
        for (const auto &n : nodes) // operator, inputs, output
            b.then(n.front().c_str(), {n.begin() + 1, n.end() - 1}, {n.back()});
        const auto m = b.find().found;
        return m->nodes.size() == b.g.nodes.size() ? kinds_of(*m) : std::vector<kind> {};
    };
    EXPECT_EQ(steps({{"Mul", "f", "f", "y"}}), (std::vector {kind::save, kind::multiply_saved}));
    EXPECT_EQ(steps({{"Add", "f", "f", "y"}}), (std::vector {kind::save, kind::add_saved}));
    EXPECT_EQ(steps({{"Relu", "f", "r"}, {"Add", "r", "f", "y"}}),
            (std::vector {kind::save, kind::clip, kind::add_saved}));
    EXPECT_EQ(steps({{"Mul", "f", "c", "m"}, {"Relu", "f", "r"}, {"Mul", "r", "m", "p"}, {"Add", "f", "p", "y"}}),
            (std::vector {kind::save, kind::clip, kind::multiply_saved, kind::add_saved}));
    EXPECT_EQ(steps({{"Relu", "f", "r"}, {"Tanh", "f", "t"}, {"Mul", "r", "t", "y"}}), std::vector<kind> {});
    EXPECT_EQ(steps({{"Relu", "f", "r"}, {"Mul", "f", "u", "m"}, {"Mul", "r", "m", "y"}}), std::vector<kind> {});
    EXPECT_EQ(steps({{"Relu", "f", "r"}, {"Sub", "r", "f", "y"}}), std::vector<kind> {});
}

/// A function may save the value itself, not one that others make of it.
// Activations.

struct tabulated {
    std::vector<std::size_t> nodes;
    data_type from = data_type::f32;

    table_maker maker() {
        return [this](std::span<const std::size_t> given, data_type t) {
            nodes.assign(given.begin(), given.end());
            from = t;
            std::vector<std::uint8_t> table(t == data_type::f16 ? 65536 : 256);
            table[9] = 77;
            return table;
        };
    }
};

builder activation(bool is_of_bytes, bool is_half, const char *curve, const dims &last_scale = {}) {
    auto b = floats();
    b.add_floats("y_scale", {}, 1);
    b.add_bytes("y_zero_point", {}, 0, data_type::s8);
    b.add_floats("last_scale", last_scale);
    if (is_of_bytes) {
        quantize(b, "f", "q");
        b.then("DequantizeLinear", {"q", "y_scale", "y_zero_point"}, {"d"});
    }
    const std::string real = is_of_bytes ? "d" : "f";
    if (is_half) b.cast(real, "h", data_type::f16);
    b.then(curve, {is_half ? "h" : real}, {"t"});
    if (is_half) b.cast("t", "back");
    b.add("y", data_type::s8, dims {3, 5});
    b.then("QuantizeLinear", {is_half ? "back" : "t", "last_scale", "y_zero_point"}, {"y"});
    return b;
}

TEST(curves_match, activations_are_tables) {
    const auto expect = [](bool is_of_bytes, bool is_half, const char *curve) {
        tabulated t;
        const auto b = activation(is_of_bytes, is_half, curve);
        const auto m = b.find(t.maker()).found;
        ASSERT_TRUE(m);
        EXPECT_EQ(m->nodes.size(), b.g.nodes.size());
        std::vector<std::size_t> of_table(b.g.nodes.size() - 3);
        std::iota(of_table.begin(), of_table.end(), 3U); // from DequantizeLinear on, or from the curve on
        EXPECT_EQ(t.nodes, of_table);
        EXPECT_EQ(t.from, is_of_bytes ? data_type::s8 : data_type::f16);
        EXPECT_EQ(kinds_of(*m), std::vector {is_of_bytes ? kind::saturate : kind::look_up});
        ASSERT_EQ(m->table.has_value(), is_of_bytes);
        if (is_of_bytes)
            EXPECT_EQ((*m->table)[9], 77);
        else
            EXPECT_EQ(m->post_ops.front().table.size(), 65536U);
        EXPECT_EQ(m->result, result_type::bytes);
        EXPECT_EQ(m->end, "");
    };
    for (const char *curve : {"Tanh", "Sigmoid"})
        for (const bool is_half : {false, true})
            expect(true, is_half, curve);
    expect(false, true, "Tanh");
}

TEST(curves_match, activations_are_the_callers_choice) {
    EXPECT_EQ(activation(true, true, "Tanh").find().found->nodes.size(), 3U);
    EXPECT_EQ(activation(false, true, "Tanh").find().found->nodes.size(), 2U);
    EXPECT_EQ(activation(false, false, "Tanh").find().found->nodes.size(), 4U); // of floats it is a post-op
}

TEST(curves_match, a_part_of_an_activation_is_none) {
    const auto expect = [](const builder &b, std::size_t nodes, result_type result, const std::string &end) {
        tabulated t;
        const auto m = b.find(t.maker()).found;
        EXPECT_EQ(m->nodes.size(), nodes);
        EXPECT_EQ(m->result, result);
        EXPECT_FALSE(m->table);
        EXPECT_EQ(m->end, end);
        EXPECT_TRUE(t.nodes.empty());
    };
    expect(activation(true, true, "Erf"), 3, result_type::bytes,
            "after 'h' expected Tanh or Sigmoid, given node 'Erf_5' (Erf)");
    expect(activation(true, false, "Erf"), 3, result_type::bytes,
            "after 'd' expected Tanh or Sigmoid, given node 'Erf_4' (Erf)");
    expect(activation(true, false, "Tanh", {5}), 3, result_type::bytes,
            "node 'QuantizeLinear_5' (QuantizeLinear): 'last_scale': expected a constant of one value");
    auto b = activation(true, false, "Tanh");
    b["y"].type = data_type::s16;
    expect(b, 3, result_type::bytes,
            "node 'QuantizeLinear_5' (QuantizeLinear): expected a result of u8 or s8, given s16");
    b["d"].type = data_type::f16;
    expect(b, 3, result_type::bytes,
            "node 'DequantizeLinear_3' (DequantizeLinear): expected a result of f32, given f16");
    expect(activation(false, true, "Erf"), 2, result_type::f32,
            "after 'h' expected Tanh or Sigmoid, given node 'Erf_3' (Erf)");
    expect(activation(false, false, "Tanh"), 2, result_type::f32, "after 'f' expected Mul, given node 'Tanh_2' (Tanh)");
    expect(floats(), 2, result_type::f32, "value 'f': expected one node that takes it, given 0");

    b = activation(true, true, "Tanh");
    b["back"].type = data_type::bf16;
    expect(b, 3, result_type::bytes, "node 'Cast_6' (Cast): expected a result of f32, given bf16");
    b["h"].type = data_type::bf16;
    expect(b, 3, result_type::bytes, "node 'Cast_4' (Cast): expected a result of f16, given bf16");
    b = activation(true, false, "Tanh");
    b.g.nodes.back().what = op::other;
    expect(b, 3, result_type::bytes,
            "after 't' expected QuantizeLinear, given node 'QuantizeLinear_5' (QuantizeLinear)");
    b["t"].is_seen_outside = true;
    expect(b, 3, result_type::bytes, "value 't' is also an output of the graph");
    b["d"].is_seen_outside = true;
    expect(b, 3, result_type::bytes, "value 'd' is also an output of the graph");
    b.g.nodes[3].inputs = {b.at("y_scale"), b.at("q")};
    expect(b, 3, result_type::bytes, "node 'DequantizeLinear_3' (DequantizeLinear): expected 'q' as its first input");
    b.g.nodes[3].what = op::other;
    expect(b, 3, result_type::bytes,
            "after 'q' expected DequantizeLinear, given node 'DequantizeLinear_3' (DequantizeLinear)");
}

TEST(curves_match, an_activation_may_have_no_zero_points) {
    auto b = activation(true, false, "Tanh");
    b.g.nodes[3].inputs[2] = b.g.nodes[5].inputs[2] = none;
    tabulated t;
    const auto m = b.find(t.maker()).found.value();
    EXPECT_EQ(m.nodes.size(), 6U);
    EXPECT_TRUE(m.table);
}

} // namespace
} // namespace dynquant::layers::match
