// Weight-only layers whose weights pass Transpose and Reshape: which matrix results, and which are left.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "layers/match/describe.hpp"

namespace dynquant::layers::match {
namespace {

using perm = std::vector<std::int64_t>;

/// y = MatMul(x, weights) of constants `stored` with scales; move() adds what moves them.
class moved : public builder {
  public:
    explicit moved(dims stored, const dims &scales = {}, std::int64_t axis = 1, std::int64_t block = 0)
        : shape_(std::move(stored)) {
        add("x", data_type::f32, std::nullopt);
        add_bytes("w", shape_, 7);
        add_floats("s", scales, 0);
        add(last_, data_type::f32, shape_);
        then("DequantizeLinear", {"w", "s"}, {last_}).attributes = {{"axis", axis}, {"block_size", block}};
    }

    moved transposed(const perm &by) {
        dims to;
        for (const auto p : by)
            to.push_back(shape_[static_cast<std::size_t>(p)]);
        go_to("Transpose", {last_}, to).attributes["perm"] = by;
        return *this;
    }

    moved reshaped(const dims &to) {
        const auto shape_name = last_ + "_to";
        add_bytes(shape_name, {static_cast<std::int64_t>(to.size())});
        go_to("Reshape", {last_, shape_name}, to);
        return *this;
    }

    moved multiplied(bool transposes = false) {
        then("Gemm", {"x", last_}, {"y"}).attributes["transB"] = std::int64_t {transposes};
        return *this;
    }

    moved convolved(std::int64_t groups) {
        then("Conv", {"x", last_}, {"y"}).attributes["group"] = groups;
        return *this;
    }

    weight_only_weights weights() const {
        const auto m = *find().found;
        EXPECT_EQ(m.nodes.size(), g.nodes.size());
        return describe_weight_only(g, m).weights;
    }

  private:
    node &go_to(const char *op, const names &inputs, dims to) {
        last_ += "_";
        shape_ = std::move(to);
        add(last_, data_type::f32, shape_);
        return then(op, inputs, {last_});
    }

    dims shape_;
    std::string last_ = "wf";
};

dims extents_of(const weight_only_weights &w) {
    return {w.inner, w.columns, w.is_transposed, w.block, w.scale_columns};
}

TEST(moved_weights_match, transposes_turn_the_matrix) {
    // Scales of 5 columns, stored as rows.
    EXPECT_EQ(extents_of(moved({5, 4}, {5}, 0).transposed({1, 0}).multiplied().weights()), (dims {4, 5, 1, 4, 5}));
    // transB turns it back.
    EXPECT_EQ(extents_of(moved({4, 5}, {5}, 1).transposed({1, 0}).multiplied(true).weights()), (dims {4, 5, 0, 4, 5}));
    EXPECT_EQ(extents_of(moved({4, 5}, {4}, 0).transposed({1, 0}).transposed({1, 0}).multiplied().weights()),
            (dims {4, 5, 0, 1, 1}));
    EXPECT_EQ(extents_of(moved({4, 5}, {}).transposed({0, 1}).multiplied().weights()), (dims {4, 5, 0, 4, 1}));
    EXPECT_EQ(extents_of(moved({5, 4}, {5}, 0).transposed({1, 0}).transposed({0, 1}).multiplied().weights()),
            (dims {4, 5, 1, 4, 5}));
    // Without `perm` it reverses the dimensions.
    auto b = moved({5, 4}, {4}, 1).transposed({1, 0});
    b.g.nodes.back().attributes.clear();
    EXPECT_EQ(extents_of(b.multiplied().weights()), (dims {4, 5, 1, 1, 1}));
}

TEST(moved_weights_match, blocks_of_a_turned_matrix) {
    const auto w = moved({5, 4}, {5, 2}, 1, 2).transposed({1, 0}).multiplied().weights();
    EXPECT_EQ(extents_of(w), (dims {4, 5, 1, 2, 5}));
    EXPECT_EQ(w.scales, (std::vector<float> {0, 2, 4, 6, 8, 1, 3, 5, 7, 9}));
}

TEST(moved_weights_match, reshapes_keep_the_order_in_memory) {
    EXPECT_EQ(extents_of(moved({4, 2, 3}).reshaped({4, 6}).multiplied().weights()), (dims {4, 6, 0, 4, 1}));
    EXPECT_EQ(extents_of(moved({24}, {}).reshaped({4, 6}).multiplied().weights()), (dims {4, 6, 0, 4, 1}));
    EXPECT_EQ(extents_of(moved({4, 2, 3}, {4}, 0).reshaped({4, 6}).multiplied().weights()), (dims {4, 6, 0, 1, 1}));
    EXPECT_EQ(extents_of(moved({4, 1, 6}, {6}, -1).reshaped({4, 6}).multiplied().weights()), (dims {4, 6, 0, 4, 6}));
    EXPECT_EQ(extents_of(moved({2, 2, 6}, {6}, 2).reshaped({4, 6}).multiplied().weights()), (dims {4, 6, 0, 4, 6}));
    // Blocks of 3 end where the last dimension does, so that a row of 6 has two of them.
    const auto w = moved({4, 2, 3}, {4, 2, 1}, 2, 3).reshaped({4, 6}).multiplied(true).weights();
    EXPECT_EQ(extents_of(w), (dims {6, 4, 1, 3, 4}));
    EXPECT_EQ(w.scales, (std::vector<float> {0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(moved_weights_match, both_and_dimensions_of_1) {
    EXPECT_EQ(extents_of(moved({5, 2, 2}, {5}, 0).reshaped({5, 4}).transposed({1, 0}).multiplied().weights()),
            (dims {4, 5, 1, 4, 5}));
    EXPECT_EQ(extents_of(moved({5, 1, 4}, {5}, 0).transposed({2, 1, 0}).reshaped({4, 5}).multiplied().weights()),
            (dims {4, 5, 1, 4, 5}));
    // The first dimension becomes the last: [5, 2, 2] is the matrix [5, 4].
    EXPECT_EQ(extents_of(moved({5, 2, 2}, {5}, 0).transposed({1, 2, 0}).reshaped({4, 5}).multiplied().weights()),
            (dims {4, 5, 1, 4, 5}));
}

/// The filters, 6 of 4 channels and 3 taps, are stored as columns.
TEST(moved_weights_match, filters_may_be_transposed) {
    const auto filters = [](std::int64_t groups) {
        return moved({4, 3, 6}, {6}, 2).transposed({2, 0, 1}).convolved(groups);
    };
    EXPECT_EQ(extents_of(filters(1).weights()), (dims {12, 6, 0, 12, 6}));
    EXPECT_EQ(filters(2).find().reason, "its weights are transposed, and it has groups");
}

TEST(moved_weights_match, says_why_weights_are_left) {
    const auto reason = [](const moved &b) { return b.find().reason; };
    EXPECT_EQ(reason(moved({2, 3, 4}).transposed({2, 1, 0}).reshaped({4, 6}).multiplied()),
            "node 'Transpose_1' (Transpose), of its weights, transposes more than a matrix");
    for (const auto &[stored, to] :
            {std::pair {dims {4, 6}, dims {4, 5}}, {dims {0, 6}, dims {0, 6}}, {dims {4, 6}, dims {4, -1}}})
        EXPECT_EQ(reason(moved(stored).reshaped(to).multiplied()),
                "node 'Reshape_1' (Reshape), of its weights: expected a shape that is known");
    EXPECT_EQ(reason(moved({2, 3, 4}).transposed({1, 0, 2}).reshaped({6, 4}).multiplied()),
            "node 'Transpose_1' (Transpose), of its weights, transposes more than a matrix");
    EXPECT_EQ(reason(moved({4, 6}).transposed({1, 0}).reshaped({8, 3}).multiplied()),
            "its weights, transposed to 6 rows, become 8x3");
    EXPECT_EQ(reason(moved({4, 6}).transposed({1, 0}).reshaped({2, 12}).transposed({1, 0}).multiplied()),
            "node 'Transpose_3' (Transpose), of its weights, transposes more than a matrix");
    EXPECT_EQ(reason(moved({4, 2, 3}, {2}, 1).reshaped({4, 6}).multiplied()),
            "its weights have scales along axis 1 of 4x2x3, neither their rows nor their columns");
    EXPECT_EQ(reason(moved({4, 6}, {6}, 1).reshaped({8, 3}).multiplied()),
            "its weights have scales along axis 1 of 4x6, neither their rows nor their columns");
    EXPECT_EQ(reason(moved({4, 6}, {2, 6}, 0, 3).reshaped({8, 3}).multiplied()),
            "its weights have scales along axis 0 of 4x6, neither their rows nor their columns");
    EXPECT_EQ(reason(moved({4, 6}, {4, 2}, 1, 3).reshaped({8, 3}).multiplied()),
            "its weights have blocks along their columns");
    EXPECT_EQ(reason(moved({2, 3, 4}).transposed({2, 0, 1}).multiplied()), "its weights have shape 4x2x3");
    auto b = moved({4, 2, 3}).reshaped({4, 6});
    b["wf_to"].known.reset();
    EXPECT_EQ(reason(b.multiplied()), "node 'Reshape_1' (Reshape), of its weights: expected a shape that is known");
    b = moved({5, 4}, {5}, 0).transposed({1, 0}).multiplied();
    b["wf"].is_seen_outside = true;
    EXPECT_EQ(reason(b), "other nodes take its weights 'wf'");
}

} // namespace
} // namespace dynquant::layers::match
