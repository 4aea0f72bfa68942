// Graphs are built of ops, attributes and shared logical tensors, and split into ordered partitions.
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

/// What the op of a partition makes of src.
bytes computed(const dg::partition &partition, const std::vector<float> &values) {
    const auto src = partition.get_input_ports().at(0), dst = partition.get_output_ports().at(0);
    const auto compiled = partition.compile({src}, {dst}, cpu());
    return executed(compiled, {src}, {floats_of(values)}, {dst}, {bytes(values.size())}).at(0);
}

/// Each column by its scale.
dg::op per_channel() {
    return static_op {.src = f32(0, {1, 2}), .dst = u8(3, {1, 2}), .scales = {1, 1}, .zps = {}}.make();
}

TEST(set_attr, takes_every_type) {
    dg::op op(0, kind::Quantize);
    op.set_attr(attr::axis, std::int64_t {0})
            .set_attr(attr::epsilon, 1.0f)
            .set_attr(attr::keep_dims, true)
            .set_attr(attr::qtype, std::string("per_channel"))
            .set_attr(attr::zps, std::vector<std::int64_t> {1, 2})
            .set_attr(attr::scales, std::vector<float> {1, 2});
    EXPECT_EQ(&op.set_attr<std::string>(attr::mode, "none"), &op);
}

TEST(set_attr, replaces_the_value) {
    auto op = per_channel();
    op.set_attr(attr::scales, std::vector<float> {1.0f, 0.5f});
    EXPECT_EQ(computed(partition_of(op), {3, 3}), integers_of({3, 6}));
}

TEST(set_attr, takes_a_number_as_a_list_of_one) {
    dg::op op(3, kind::Quantize, {f32(0, {2})}, {s8(1, {2})});
    op.set_attr(attr::scales, 0.5f).set_attr(attr::zps, std::int64_t {-1});
    EXPECT_EQ(computed(partition_of(op), {1, -2}), integers_of({1, -5}));
}

TEST(add_op, copies_the_op) {
    auto op = per_channel();
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(op);
    op.set_attr(attr::scales, std::vector<float> {4, 4});
    op.add_input(f32(8, {2}));
    graph.finalize();
    const auto partition = graph.get_partitions()[0];
    ASSERT_EQ(partition.get_input_ports().size(), 1u);
    EXPECT_EQ(computed(partition, {3, 3}), integers_of({3, 3}));
}

TEST(add_op, keeps_the_logical_tensors_of_the_op) {
    const lt src(0, type::f32, dims {unknown, 4}, layout::any);
    const auto ports = partition_of(dynamic_op {.src = src}.make()).get_input_ports();
    EXPECT_TRUE(ports.at(0).is_equal(src));
}

TEST(add_op, takes_one_op_into_many_graphs) {
    const auto op = dynamic_op {}.make();
    EXPECT_NO_THROW(partition_of(op));
    EXPECT_NO_THROW(partition_of(op));
}

TEST(chain, has_independent_ops_in_the_order_of_add_op) {
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto id : std::vector<std::size_t> {5, 2, 9}) {
        dg::op op(id, kind::Quantize, {f32(2 * id, {4})}, {s8(2 * id + 1, {4})});
        graph.add_op(op.set_attr(attr::scales, std::vector<float> {1}));
    }
    graph.finalize();
    std::vector<std::size_t> ids;
    for (const auto &partition : graph.get_partitions())
        ids.push_back(partition.get_ops()[0]);
    EXPECT_EQ(ids, (std::vector<std::size_t> {5, 2, 9}));
}

TEST(chain, may_have_many_consumers_of_a_tensor) {
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto id : std::vector<std::size_t> {1, 2}) {
        dg::op op(id, kind::Quantize, {f32(0, {4})}, {s8(id, {4})});
        graph.add_op(op.set_attr(attr::scales, std::vector<float> {1}));
    }
    graph.finalize();
    EXPECT_EQ(graph.get_partitions().size(), 2u);
}

TEST(chain, may_compute_the_scales_of_an_op) {
    // s8 0 -> f32 1, the scales of a per-tensor quantize
    dg::op scales(2, kind::Dequantize, {s8(0, {1})}, {f32(1, {1})});
    scales.set_attr(attr::scales, std::vector<float> {0.25f});
    const dg::op quantize(1, kind::DynamicQuantize, {f32(5, {2}), f32(1, {1})}, {u8(6, {2})});
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(quantize);
    graph.add_op(scales);
    graph.finalize();
    const auto partitions = graph.get_partitions();
    EXPECT_EQ(partitions.at(0).get_ops(), std::vector<std::size_t> {2});
    EXPECT_EQ(partitions.at(1).get_ops(), std::vector<std::size_t> {1});
}

TEST(chain, may_have_a_thousand_ops) {
    dg::graph graph(dg::engine::kind::cpu);
    for (std::size_t i = 1000; i-- > 0;) { // consumers first
        const bool quantize = i % 2 == 0;
        dg::op op(i, quantize ? kind::Quantize : kind::Dequantize, {quantize ? f32(i, {4}) : s8(i, {4})},
                {quantize ? s8(i + 1, {4}) : f32(i + 1, {4})});
        graph.add_op(op.set_attr(attr::scales, std::vector<float> {1}));
    }
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 1000u);
    for (std::size_t i = 0; i < 1000; ++i)
        ASSERT_EQ(partitions[i].get_ops()[0], i);
}

} // namespace
} // namespace dynquant::test
