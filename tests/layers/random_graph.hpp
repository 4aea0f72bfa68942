// Random graphs with layers, and what the provider relies on: ONNX Runtime gives the nodes of a layer back as a graph
// of their own.
#pragma once

#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "support/random.hpp"

namespace dynquant::layers::match {

/// The nodes alone. Values keep their indices, types, shapes and constants.
inline graph part_of(const graph &g, const std::vector<std::size_t> &nodes) {
    graph part = g;
    part.nodes.clear();
    for (const auto index : nodes)
        part.nodes.push_back(g.nodes[index]);
    for (auto &v : part.values) {
        v.producer = none;
        v.is_seen_outside |= v.consumers.empty();
        const auto all = std::exchange(v.consumers, {});
        for (const auto consumer : all)
            if (const auto found = std::ranges::find(nodes, consumer); found != nodes.end())
                v.consumers.push_back(static_cast<std::size_t>(found - nodes.begin()));
            else
                v.is_seen_outside = true;
    }
    for (std::size_t i = 0; i < part.nodes.size(); ++i)
        for (const auto output : part.nodes[i].outputs)
            part.values[output].producer = i;
    return part;
}

/// Layers in a row, of which some share what quantizes, or meet in a Mul, and of which nodes do not fit here and there.
class random_graph {
  public:
    explicit random_graph(const test::random_source &drawn)
        : random_(drawn) {
        b_.add("x", data_type::f32, any_shape());
        for (const char *name : {"one", "c1", "c2"})
            b_.add_floats(name, one_in(2) ? dims {} : dims {1});
        b_.add_floats("by_channel", {5});
        b_.add_floats("rows", {3, 1});
        b_.add_integers("bias", one_in(2) ? dims {5} : dims {});
        b_.add_bytes("w", {5, 5});
        b_.add_bytes("z", {});
        b_.add_floats("y_scale", one_in(2) ? dims {5} : dims {});
        for (int layers = 1 + pick(3); layers > 0; --layers)
            add_layer();
        for (auto &v : b_.g.values)
            if (v.producer != none && (v.consumers.empty() || one_in(30))) v.is_seen_outside = true;
    }

    const graph &result() const { return b_.g; }

  private:
    int pick(int count) { return static_cast<int>(random_.within(0, count - 1)); }
    bool one_in(int count) { return pick(count) == 0; }
    std::string fresh() { return "v" + std::to_string(++count_); }
    std::optional<dims> any_shape() {
        const std::optional<dims> shapes[] = {std::nullopt, dims {3, 5}, dims {-1, 5}, dims {1, 5}};
        return shapes[pick(4)];
    }

    std::string then(const char *op, names inputs) {
        if (inputs.size() == 2 && (op == std::string("Mul") || op == std::string("Add")) && one_in(2))
            std::swap(inputs[0], inputs[1]);
        auto y = fresh();
        b_.add(y, data_type::f32, one_in(3) ? std::optional<dims>() : one_in(3) ? dims {1, 1} : dims {3, 5});
        b_.then(op, inputs, {y});
        return y;
    }

    void add_quantize() {
        q_ = fresh(), s_ = fresh(), z_ = fresh();
        b_.add(q_, data_type::u8, any_shape());
        const auto scalar = one_in(8) ? std::optional<dims>() : dims {};
        b_.add(s_, data_type::f32, scalar);
        b_.add(z_, data_type::u8, scalar);
        b_.then("DynamicQuantizeLinear", {floats_.empty() || one_in(2) ? "x" : floats_.back()}, {q_, s_, z_});
    }

    void add_layer() {
        if (q_.empty() || !one_in(3)) add_quantize();
        auto y = fresh();
        b_.add(y, data_type::s32, any_shape());
        b_.then("MatMulInteger", {q_, "w", one_in(4) ? "z" : z_}, {y});
        for (int i = one_in(2) ? 1 + one_in(4) : 0; i > 0; --i) {
            const auto biased = fresh();
            b_.add(biased, data_type::s32, b_[y].shape);
            b_.then("Add", {y, "bias"}, {biased});
            y = biased;
        }
        if (one_in(8)) return;
        const auto f = fresh();
        b_.cast(y, f);
        y = f;
        const char *const scales[] = {"c1", "by_channel", "rows", "one"};
        if (one_in(2) || scale_.empty()) scale_ = one_in(3) ? s_ : then("Mul", {s_, scales[pick(4)]});
        if (!one_in(4)) y = then("Mul", {y, scale_});
        for (int steps = pick(5); steps > 0; --steps)
            y = add_step(y);
        if (one_in(2)) {
            const auto to = fresh();
            b_.add(to, data_type::u8, b_[y].shape);
            b_.then("QuantizeLinear", {y, "y_scale"}, {to}).attributes["axis"] = std::int64_t {one_in(2) ? 1 : -1};
        }
        floats_.push_back(y);
    }

    std::string add_step(const std::string &y) {
        switch (pick(12)) {
            case 0: return then("Relu", {y});
            case 1: return then("HardSwish", {y});
            case 2: return then("Add", {y, one_in(4) ? "rows" : "by_channel"});
            case 3: return then("Sub", {y, "c2"});
            case 4: return then("Mul", {y, then("HardSigmoid", {y})});
            case 5: return then("Mul", {y, then("HardSwish", {then("Add", {y, "one"})})});
            case 6: return then("Mul", {y, "c1"});
            case 8: return then(one_in(2) ? "Tanh" : "Sigmoid", {y});
            case 9: return then(one_in(2) ? "Mul" : "Add", {y, one_in(4) ? y : then("Swish", {y})});
            case 10:
                return then("Mul", {then("Mul", {y, "c2"}), then("Add", {y, then("Mul", {then("Mul", {y, y}), y})})});
            case 7: return one_in(3) ? then("Abs", {y}) : then("PRelu", {y, one_in(4) ? "rows" : "by_channel"});
            default:
                return floats_.empty() || !one_in(2) ? then("Div", {y, "by_channel"})
                                                     : then("Mul", {y, floats_.back()});
        }
    }

    test::random_source random_;
    builder b_;
    int count_ = 0;
    std::string q_, s_, z_, scale_;
    names floats_; // results of layers
};

/// Expects the layer in the graph of only its nodes, all of which it has; and that others take only its result.
inline void expect_the_same_alone(const graph &g, const layer_match &m) {
    const auto is_inside = [&](std::size_t n) { return std::ranges::count(m.nodes, n) > 0; };
    for (const auto n : m.nodes)
        for (const auto output : g.nodes[n].outputs)
            if (const auto &v = g.values[output]; output != m.y) {
                EXPECT_TRUE(!v.is_seen_outside && std::ranges::all_of(v.consumers, is_inside)) << v.name;
            }
    if (m.quantize != none) { // which gives them; the run does not
        const auto &given = g.nodes[m.quantize].outputs;
        EXPECT_TRUE(m.x_scale == none || m.x_scale == given[1]);
        EXPECT_TRUE(m.x_zero_point == none || m.x_zero_point == given[2]);
    }
    const auto part = part_of(g, m.nodes);
    const auto index = [&](std::size_t n) {
        return n == none ? none : static_cast<std::size_t>(std::ranges::find(m.nodes, n) - m.nodes.begin());
    };
    const auto alone = find_layer(part, index(m.product), std::vector<bool>(part.nodes.size())).found;
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->nodes.size(), m.nodes.size());
    EXPECT_EQ(alone->quantize, index(m.quantize));
    EXPECT_EQ(alone->x, m.x);
    EXPECT_EQ(alone->x_zero_point, m.x_zero_point);
    EXPECT_EQ(alone->x_scale, m.x_scale);
    EXPECT_EQ(alone->y, m.y);
    EXPECT_EQ(alone->bias, m.bias);
    EXPECT_EQ(alone->result, m.result);
    ASSERT_EQ(alone->post_ops.size(), m.post_ops.size());
    for (std::size_t i = 0; i < m.post_ops.size(); ++i) {
        EXPECT_EQ(alone->post_ops[i].what, m.post_ops[i].what);
        EXPECT_EQ(alone->post_ops[i].a, m.post_ops[i].a);
        EXPECT_EQ(alone->post_ops[i].b, m.post_ops[i].b);
    }
}

} // namespace dynquant::layers::match
