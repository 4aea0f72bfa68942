// Reshape and Transpose that split y into heads and join those of x: what a layer takes of them, and what it leaves.
#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "layers/match/describe.hpp"

namespace dynquant::layers::match {
namespace {

using integers = std::vector<std::int64_t>;

/// Floats x, [2, heads, rows, 3], joined to [2, rows, 12], quantized, and multiplied by 12x10; y split to heads. An
/// extent is -1 where it is known at run time only.
struct heads {
    dims x {-1, 4, -1, 3}, y {-1, -1, 10};
    integers joined {0, 0, 12}, split {0, 0, 5, 2}, x_order {0, 2, 1, 3}, y_order {0, 2, 1, 3};
    std::int64_t allowzero = 0;

    builder graph() const {
        builder b;
        const auto reshape = [&](const char *from, const char *shape, const integers &to, const char *result) {
            b.add_constant(shape, data_type::s32, {std::ssize(to)}, to); // int64 is none of dynquant's types
            b.then("Reshape", {from, shape}, {result}).attributes["allowzero"] = allowzero;
        };
        b.add("x", data_type::f32, x);
        b.then("Transpose", {"x"}, {"moved"}).attributes["perm"] = x_order;
        reshape("moved", "joined_shape", joined, "joined");
        b.add("q", data_type::u8, std::nullopt);
        b.add("s", data_type::f32, dims {});
        b.add("z", data_type::u8, dims {});
        b.then("DynamicQuantizeLinear", {"joined"}, {"q", "s", "z"});
        b.add_bytes("w", {12, 10});
        b.add("sums", data_type::s32, y);
        b.then("MatMulInteger", {"q", "w", "z"}, {"sums"});
        b.cast("sums", "f");
        b.add("y", data_type::f32, y);
        b.then("Mul", {"f", "s"}, {"y"});
        reshape("y", "split_shape", split, "parts");
        b.then("Transpose", {"parts"}, {"v"}).attributes["perm"] = y_order;
        return b;
    }
};

/// What x has, and how y is split: "joined", "5 heads" or "5 heads transposed"; "" where the layer takes neither.
std::string taken_of(const builder &b) {
    auto m = b.find().found.value();
    const auto before = m.nodes.size();
    take_heads(b.g, m, std::vector<bool>(b.g.nodes.size()));
    EXPECT_EQ(m.nodes.size(), before + 2 * (m.x_has_heads ? 1 : 0) + 2 * (m.y_heads > 0 ? 1 : 0));
    EXPECT_EQ(b.g.values[m.x].name,
            m.x_has_heads                                                                  ? "x"
                    : b.g.nodes[b.g.values[m.x].consumers.front()].is(op::mat_mul_integer) ? "q"
                                                                                           : "joined");
    EXPECT_EQ(b.g.values[m.y].name, m.y_heads > 0 ? "v" : "y");
    const auto d = describe(b.g, m);
    EXPECT_EQ(d.x_has_heads, m.x_has_heads);
    EXPECT_EQ(d.y_heads, m.y_heads);
    std::string text = d.x_has_heads ? "joined" : "";
    if (d.y_heads > 0) text += (text.empty() ? "" : ", ") + std::to_string(d.y_heads) + " heads";
    return text + (d.y_heads_are_transposed ? " transposed" : "");
}

TEST(heads_match, takes_both) {
    EXPECT_EQ(taken_of(heads {}.graph()), "joined, 5 heads");
    EXPECT_EQ(taken_of(heads {.y_order = {0, 2, 3, 1}}.graph()), "joined, 5 heads transposed");
}

TEST(heads_match, takes_shapes_that_keep_rows) {
    heads h;
    for (const auto &split : {integers {0, -1, 5, 2}, {-1, 0, 5, 2}, {0, 0, -1, 2}, {0, 0, 5, -1}}) {
        h.split = split;
        EXPECT_EQ(taken_of(h.graph()), "joined, 5 heads") << testing::PrintToString(split);
    }
    for (const auto &joined : {integers {0, -1, 12}, {-1, 0, 12}, {0, 0, -1}}) {
        h.joined = joined;
        EXPECT_EQ(taken_of(h.graph()), "joined, 5 heads") << testing::PrintToString(joined);
    }
    h.x = {2, 4, 7, 3};
    h.y = {2, 7, 10};
    h.joined = {2, 7, 12};
    h.split = {2, -1, 5, 2};
    h.allowzero = 1; // there are no zeros
    EXPECT_EQ(taken_of(h.graph()), "joined, 5 heads");
}

TEST(heads_match, leaves_shapes_that_move_rows) {
    for (const auto &split : {integers {1, -1, 5, 2}, {-1, 7, 5, 2}, {0, 7, 5, 2}, {0, -1, 5, 1}, {0, -1, 5, 4},
                 {0, 0, 0, 1}, {0, 0, 5, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}, {0, 0, -1, 3}, {2, 7, 5, 2}}) {
        heads h;
        h.split = split;
        EXPECT_EQ(taken_of(h.graph()), "joined") << testing::PrintToString(split);
    }
    for (const auto &joined : {integers {1, -1, 12}, {-1, 7, 12}, {0, -1, 6}, {2, 7, 12}}) {
        heads h;
        h.joined = joined;
        EXPECT_EQ(taken_of(h.graph()), "5 heads") << testing::PrintToString(joined);
    }
    for (const auto &order : {integers {0, 1, 2, 3}, {2, 0, 1, 3}, {0, 3, 2, 1}}) {
        heads h;
        h.x_order = h.y_order = order;
        EXPECT_EQ(taken_of(h.graph()), "") << testing::PrintToString(order);
    }
    heads h;
    h.allowzero = 1; // extents of 0
    EXPECT_EQ(taken_of(h.graph()), "");
    h = {};
    h.x = {-1, -1, -1, -1}; // what is a row of so many elements is known at run time only
    h.joined = {0, -1, 12};
    EXPECT_EQ(taken_of(h.graph()), "5 heads");
    h.joined = {0, 0, -1};
    EXPECT_EQ(taken_of(h.graph()), "5 heads");
    h.joined = {0, 0, 12};
    EXPECT_EQ(taken_of(h.graph()), "joined, 5 heads");
    for (const auto &x : {dims {-1, 4, -1, -1}, dims {-1, -1, -1}}) {
        h.x = x;
        EXPECT_EQ(taken_of(h.graph()), "joined, 5 heads");
    }
    h.x = {-1, 4, -1, 4}; // rows of 16
    EXPECT_EQ(taken_of(h.graph()), "5 heads");
}

TEST(heads_match, leaves_other_ranks_and_types) {
    heads h;
    h.joined = {0, 12};
    EXPECT_EQ(taken_of(h.graph()), "5 heads");
    auto b = heads {}.graph();
    b["x"].type = data_type::f16;
    EXPECT_EQ(taken_of(b), "5 heads");
    b = heads {}.graph();
    b["x"].shape.reset();
    EXPECT_EQ(taken_of(b), "joined, 5 heads");
    b.add_bytes("w", {1, 12, 10});
    EXPECT_EQ(taken_of(b), "");
    b = heads {}.graph();
    auto m = b.find().found.value();
    m.normalization.emplace();
    take_heads(b.g, m, std::vector<bool>(b.g.nodes.size()));
    EXPECT_EQ(m.y_heads, 0);
}

TEST(heads_match, leaves_nodes_of_other_layers) {
    const auto b = heads {}.graph();
    for (std::size_t i = 0; i < b.g.nodes.size(); ++i) {
        if (!b.g.nodes[i].is(op::reshape, op::transpose)) continue;
        std::vector<bool> is_taken(b.g.nodes.size());
        is_taken[i] = true;
        auto m = b.find().found.value();
        take_heads(b.g, m, is_taken);
        EXPECT_EQ(m.x_has_heads, i > 2) << i; // the first two are before x
        EXPECT_EQ(m.y_heads, i > 2 ? 0 : 5) << i;
    }
}

TEST(heads_match, leaves_what_others_take) {
    for (const auto *name : {"y", "parts"}) {
        auto b = heads {}.graph();
        b[name].is_seen_outside = true;
        EXPECT_EQ(taken_of(b), "joined") << name;
        b[name].is_seen_outside = false;
        b.then("Sin", {name}, {"other"});
        EXPECT_EQ(taken_of(b), "joined") << name;
    }
    for (const auto *name : {"moved", "joined"}) {
        auto b = heads {}.graph();
        b[name].is_seen_outside = true;
        EXPECT_EQ(taken_of(b), "5 heads") << name;
        b[name].is_seen_outside = false;
        b.then("Sin", {name}, {"other"});
        EXPECT_EQ(taken_of(b), "5 heads") << name;
    }
    auto b = heads {}.graph();
    b["split_shape"].known.reset();
    b["joined_shape"].known.reset();
    EXPECT_EQ(taken_of(b), "");
    b = heads {}.graph();
    b["y"].shape.reset();
    EXPECT_EQ(taken_of(b), "joined");
}

} // namespace
} // namespace dynquant::layers::match
