// Graphs are built of ops, attributes and shared logical tensors, and split into ordered partitions.
#include <numeric>

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

using op_ids = std::vector<std::size_t>;

/// The op of each partition of a graph, in their order.
op_ids order_of(const std::vector<dg::op> &ops) {
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto &op : ops)
        graph.add_op(op);
    graph.finalize();
    op_ids ids;
    for (const auto &partition : graph.get_partitions())
        ids.push_back(partition.get_ops().at(0));
    return ids;
}

dg::op by_scale_1(std::size_t id, const lt &src, const lt &dst) {
    dg::op op(id, src.get_data_type() == type::f32 ? kind::Quantize : kind::Dequantize, {src}, {dst});
    return op.set_attr(attr::scales, std::vector<float> {1});
}

TEST(chain, has_independent_ops_in_the_order_of_add_op) {
    EXPECT_EQ(order_of({by_scale_1(5, f32(10, {4}), s8(11, {4})), by_scale_1(2, f32(4, {4}), s8(5, {4})),
                      by_scale_1(9, f32(18, {4}), s8(19, {4}))}),
            (op_ids {5, 2, 9}));
}

TEST(chain, may_have_many_consumers_of_a_tensor) {
    const auto src = f32(0, {4});
    EXPECT_EQ(order_of({by_scale_1(1, src, s8(1, {4})), by_scale_1(2, src, s8(2, {4}))}), (op_ids {1, 2}));
}

TEST(chain, may_compute_the_scales_of_an_op) {
    const auto scales = f32(1, {1});
    const dg::op quantize(1, kind::DynamicQuantize, {f32(5, {2}), scales}, {u8(6, {2})});
    EXPECT_EQ(order_of({quantize, by_scale_1(2, s8(0, {1}), scales)}), (op_ids {2, 1}));
}

TEST(chain, may_have_a_thousand_ops) {
    std::vector<dg::op> ops;
    for (std::size_t i = 1000; i-- > 0;) // consumers first
        ops.push_back(
                i % 2 == 0 ? by_scale_1(i, f32(i, {4}), s8(i + 1, {4})) : by_scale_1(i, s8(i, {4}), f32(i + 1, {4})));
    op_ids expected(1000);
    std::iota(expected.begin(), expected.end(), std::size_t {0});
    EXPECT_EQ(order_of(ops), expected);
}

} // namespace
} // namespace dynquant::test
