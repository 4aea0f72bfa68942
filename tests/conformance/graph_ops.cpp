// Graphs are built of ops, attributes and shared logical tensors, and split into ordered partitions.
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

template <typename T>
std::vector<T> run(const dg::compiled_partition &compiled, const std::vector<dg::tensor> &inputs, const lt &dst,
        std::size_t size) {
    std::vector<T> values(size, T {77});
    dg::stream stream(cpu());
    compiled.execute(stream, inputs, {tensor_of(dst, values)});
    stream.wait();
    return values;
}

TEST(set_attr, takes_every_type) {
    dg::op op(0, kind::Quantize);
    op.set_attr(attr::axis, std::int64_t {0})
            .set_attr(attr::epsilon, 1.0f)
            .set_attr(attr::keep_dims, true)
            .set_attr(attr::qtype, std::string("per_channel"))
            .set_attr(attr::zps, std::vector<std::int64_t> {1, 2})
            .set_attr(attr::scales, std::vector<float> {1, 2});
    op.set_attr<std::string>(attr::mode, "none");
}

TEST(set_attr, returns_the_op) {
    dg::op op(0, kind::Quantize);
    EXPECT_EQ(&op.set_attr(attr::axis, std::int64_t {0}), &op);
}

TEST(set_attr, replaces_the_value) {
    auto op = static_op {.src = f32(0, {1, 2}), .dst = u8(3, {1, 2}), .scales = {1, 1}, .zps = {}}.make();
    op.set_attr(attr::scales, std::vector<float> {1.0f, 0.5f});
    std::vector<float> src {3, 3};
    const auto compiled = partition_of(op).compile({f32(0, {1, 2})}, {u8(3, {1, 2})}, cpu());
    EXPECT_EQ(run<std::uint8_t>(compiled, {tensor_of(f32(0, {1, 2}), src)}, u8(3, {1, 2}), 2),
            (std::vector<std::uint8_t> {3, 6}));
}

TEST(set_attr, takes_a_number_as_a_list_of_one) {
    dg::op op(3, kind::Quantize, {f32(0, {2})}, {s8(1, {2})});
    op.set_attr(attr::scales, 0.5f).set_attr(attr::zps, std::int64_t {-1});
    std::vector<float> src {1, -2};
    const auto compiled = partition_of(op).compile({f32(0, {2})}, {s8(1, {2})}, cpu());
    EXPECT_EQ(run<std::int8_t>(compiled, {tensor_of(f32(0, {2}), src)}, s8(1, {2}), 2),
            (std::vector<std::int8_t> {1, -5}));
}

TEST(qtype, defaults_to_per_tensor) {
    const dg::op op(3, kind::DynamicQuantize, {f32(0, {2, 4}), f32(1, {1})}, {u8(3, {2, 4})});
    EXPECT_NO_THROW(partition_of(op));
}

TEST(axis, defaults_to_1) {
    const dynamic_op op; // dims 2x4: four scales are right for axis 1 alone
    EXPECT_NO_THROW(partition_of(op.make()));
}

TEST(add_op, copies_the_op) {
    auto op = static_op {.src = f32(0, {1, 2}), .dst = u8(3, {1, 2}), .scales = {1, 1}, .zps = {}}.make();
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(op);
    op.set_attr(attr::scales, std::vector<float> {4, 4});
    op.add_input(f32(8, {2}));
    graph.finalize();
    const auto partition = graph.get_partitions()[0];
    ASSERT_EQ(partition.get_input_ports().size(), 1u);
    std::vector<float> src {3, 3};
    const auto compiled = partition.compile({f32(0, {1, 2})}, {u8(3, {1, 2})}, cpu());
    EXPECT_EQ(run<std::uint8_t>(compiled, {tensor_of(f32(0, {1, 2}), src)}, u8(3, {1, 2}), 2),
            (std::vector<std::uint8_t> {3, 3}));
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

// f32 0 -> s8 1 -> f32 2
struct chain {
    lt first = f32(0, {2, 2}), middle = s8(1, {2, 2}), last = f32(2, {2, 2});
    dg::op quantize {1, kind::Quantize, {first}, {middle}, "q"};
    dg::op dequantize {2, kind::Dequantize, {middle}, {last}, "d"};

    chain() {
        quantize.set_attr(attr::scales, std::vector<float> {0.5f}).set_attr(attr::zps, std::vector<std::int64_t> {3});
        dequantize.set_attr(attr::scales, std::vector<float> {0.5f}).set_attr(attr::zps, std::vector<std::int64_t> {3});
    }
};

TEST(chain, has_partitions_that_share_a_tensor) {
    const chain c;
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(c.quantize);
    graph.add_op(c.dequantize);
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 2u);
    EXPECT_EQ(partitions[0].get_ops(), std::vector<std::size_t> {1});
    EXPECT_EQ(partitions[1].get_ops(), std::vector<std::size_t> {2});
    EXPECT_EQ(partitions[0].get_output_ports()[0].get_id(), partitions[1].get_input_ports()[0].get_id());

    const auto q = partitions[0].compile({c.first}, {c.middle}, cpu());
    const auto d = partitions[1].compile({q.query_logical_tensor(1)}, {c.last}, cpu());
    std::vector<float> src {0.0f, 0.6f, -1.0f, 1000.0f};
    auto quantized = run<std::int8_t>(q, {tensor_of(c.first, src)}, c.middle, 4);
    EXPECT_EQ(quantized, (std::vector<std::int8_t> {3, 4, 1, 127})); // 0.6 / 0.5 + 3 = 4.2
    EXPECT_EQ(run<float>(d, {tensor_of(c.middle, quantized)}, c.last, 4),
            (std::vector<float> {0.0f, 0.5f, -1.0f, 62.0f}));
}

TEST(chain, has_producers_first) {
    const chain c;
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(c.dequantize);
    graph.add_op(c.quantize);
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 2u);
    EXPECT_EQ(partitions[0].get_ops(), std::vector<std::size_t> {1});
    EXPECT_EQ(partitions[1].get_ops(), std::vector<std::size_t> {2});
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
