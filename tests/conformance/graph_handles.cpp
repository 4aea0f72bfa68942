// op, graph, partition and compiled_partition are shared handles, as in oneDNN.
#include <set>
#include <type_traits>

#include "support/environment.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

constexpr auto uninitialized = "object is not initialized"; // dnnl::handle's own message

static_assert(std::is_nothrow_default_constructible_v<dg::partition>);
static_assert(std::is_nothrow_default_constructible_v<dg::compiled_partition>);
static_assert(!std::is_convertible_v<dg::partition, bool>);
static_assert(std::is_constructible_v<bool, dg::partition>);
static_assert(std::is_copy_assignable_v<dg::graph> && std::is_nothrow_move_constructible_v<dg::graph>);

TEST(graph_handles, are_true_unless_empty) {
    EXPECT_FALSE(dg::partition());
    EXPECT_FALSE(dg::compiled_partition());
    EXPECT_TRUE(dynamic_op {}.make());
    EXPECT_TRUE(dg::graph(dg::engine::kind::cpu));
}

TEST(graph_handles, compare_by_identity) {
    const auto op = dynamic_op {}.make();
    const auto copy = op;
    EXPECT_TRUE(op == copy);
    EXPECT_FALSE(op != copy);
    EXPECT_TRUE(op != dynamic_op {}.make());
    EXPECT_TRUE(dg::partition() == dg::partition());
}

TEST(graph_handles, of_an_op_share_it) {
    dg::op op(3, kind::DynamicQuantize, "q");
    auto copy = op;
    copy.add_inputs(dynamic_op {}.inputs());
    copy.add_output(dynamic_op {}.dst);
    copy.set_attr(attr::qtype, std::string("per_channel"));
    EXPECT_EQ(partition_of(op).get_input_ports().size(), 3u);
}

TEST(graph_handles, of_a_graph_share_it) {
    dg::graph graph(dg::engine::kind::cpu);
    auto copy = graph;
    EXPECT_EQ(copy.add_op(dynamic_op {}.make()), dg::status::success);
    copy.finalize();
    EXPECT_TRUE(graph.is_finalized());
    EXPECT_EQ(graph.get_partitions().size(), 1u);
}

TEST(graph_handles, outlive_what_they_came_from) {
    dg::compiled_partition compiled;
    {
        dg::partition partition;
        partition = partition_of(dynamic_op {}.make()); // graph and op are gone
        compiled = partition.compile(dynamic_op {}.inputs(), {dynamic_op {}.dst}, cpu());
    }
    EXPECT_EQ(compiled.query_logical_tensor(3).get_dims(), (dims {2, 4}));
}

TEST(graph_handles, throw_when_empty) {
    const dg::partition p;
    EXPECT_TRUE(fails([&] { p.get_id(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.get_ops_num(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.get_ops(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.is_supported(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.get_engine_kind(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.get_input_ports(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.get_output_ports(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { p.compile({}, {}, cpu()); }, dnnl_invalid_arguments, uninitialized));

    const dg::compiled_partition c;
    dg::stream stream(cpu());
    EXPECT_TRUE(fails([&] { c.query_logical_tensor(0); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { c.get_inplace_ports(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { c.get_info(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { c.get_scratchpad_logical_tensor(); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { c.execute(stream, {}, {}); }, dnnl_invalid_arguments, uninitialized));
}

TEST(graph_handles, throw_after_reset) {
    auto op = dynamic_op {}.make();
    op.reset(nullptr);
    EXPECT_TRUE(fails([&] { op.add_input(f32(9, {1})); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { op.set_attr(attr::axis, std::int64_t {0}); }, dnnl_invalid_arguments, uninitialized));
    EXPECT_TRUE(fails([&] { dg::partition(op, dg::engine::kind::cpu); }, dnnl_invalid_arguments, uninitialized));
    dg::graph graph(dg::engine::kind::cpu);
    EXPECT_TRUE(fails([&] { graph.add_op(op); }, dnnl_invalid_arguments, uninitialized));
    graph.reset(nullptr);
    EXPECT_TRUE(fails([&] { graph.finalize(); }, dnnl_invalid_arguments, uninitialized));
}

TEST(partition, describes_its_op) {
    const dynamic_op op;
    for (const auto &partition : {partition_of(op.make()), dg::partition(op.make(), dg::engine::kind::cpu)}) {
        EXPECT_EQ(partition.get_ops_num(), 1u);
        EXPECT_EQ(partition.get_ops(), std::vector<std::size_t> {3});
        EXPECT_TRUE(partition.is_supported());
        EXPECT_EQ(partition.get_engine_kind(), dg::engine::kind::cpu);
        std::vector<std::size_t> ids;
        for (const auto &port : partition.get_input_ports())
            ids.push_back(port.get_id());
        EXPECT_EQ(ids, (std::vector<std::size_t> {0, 1, 2}));
        ASSERT_EQ(partition.get_output_ports().size(), 1u);
        EXPECT_TRUE(partition.get_output_ports()[0].is_equal(op.dst));
    }
}

TEST(partition, has_a_unique_id) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dynamic_op {}.make());
    graph.finalize();
    std::set<std::size_t> ids;
    for (int i = 0; i < 3; ++i) {
        ids.insert(graph.get_partitions()[0].get_id());
        ids.insert(dg::partition(static_op {}.make(), dg::engine::kind::cpu).get_id());
    }
    EXPECT_EQ(ids.size(), 6u);
}

TEST(partition, is_the_same_under_each_policy) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dynamic_op {}.make());
    graph.finalize();
    EXPECT_EQ(graph.get_partitions(dg::partition::policy::fusion).size(), 1u);
    EXPECT_EQ(graph.get_partitions(dg::partition::policy::debug).size(), 1u);
}

TEST(graph, keeps_its_fpmath_mode) {
    dg::fpmath_mode mode;
    bool apply_to_int = true;
    dg::graph graph(dg::engine::kind::cpu, dg::fpmath_mode::bf16);
    graph.get_fpmath_mode(mode, apply_to_int);
    EXPECT_EQ(mode, dg::fpmath_mode::bf16);
    EXPECT_FALSE(apply_to_int);
    graph.set_fpmath_mode(dg::fpmath_mode::any, true);
    graph.get_fpmath_mode(mode, apply_to_int);
    EXPECT_EQ(mode, dg::fpmath_mode::any);
    EXPECT_TRUE(apply_to_int);
    graph.set_fpmath_mode(dg::fpmath_mode::strict);
    graph.get_fpmath_mode(mode, apply_to_int);
    EXPECT_EQ(mode, dg::fpmath_mode::strict);
    EXPECT_FALSE(apply_to_int);
}

TEST(graph, has_the_default_fpmath_mode_of_onednn) {
    const auto mode_of_a_graph = [] {
        dg::fpmath_mode mode;
        bool apply_to_int;
        dg::graph(dg::engine::kind::cpu).get_fpmath_mode(mode, apply_to_int);
        return mode;
    };
    EXPECT_EQ(mode_of_a_graph(), dg::fpmath_mode::strict);
    ASSERT_EQ(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_any), dnnl_success);
    EXPECT_EQ(mode_of_a_graph(), dg::fpmath_mode::any);
    ASSERT_EQ(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict), dnnl_success);
}

TEST(graph, selects_the_rule_by_its_fpmath_mode) {
    // The onednn kernel computes this statement only under mode any.
    const scoped_variable forced("DYNQUANT_KERNEL", "onednn");
    const dynamic_op op {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor"};
    for (const auto mode : {dg::fpmath_mode::strict, dg::fpmath_mode::bf16, dg::fpmath_mode::f16, dg::fpmath_mode::tf32,
                 dg::fpmath_mode::any}) {
        dg::graph graph(dg::engine::kind::cpu, mode);
        graph.add_op(op.make());
        graph.finalize();
        const auto partition = graph.get_partitions()[0];
        if (mode == dg::fpmath_mode::any)
            EXPECT_NO_THROW(partition.compile(op.inputs(), {op.dst}, cpu()));
        else
            EXPECT_THROW(partition.compile(op.inputs(), {op.dst}, cpu()), dnnl::error);
    }
}

TEST(compiled_partition, names_kernel_and_isa) {
    const scoped_variable forced("DYNQUANT_KERNEL", "reference");
    const dynamic_op op;
    const auto info = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu()).get_info();
    EXPECT_EQ(info.kernel, kernel_kind::reference);
    EXPECT_EQ(info.isa, "scalar");
}

TEST(compiled_partition, needs_no_scratchpad_and_has_no_inplace_ports) {
    const dynamic_op op;
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    EXPECT_TRUE(compiled.get_inplace_ports().empty());
    const auto scratchpad = compiled.get_scratchpad_logical_tensor();
    EXPECT_EQ(scratchpad.get_data_type(), type::u8);
    EXPECT_EQ(scratchpad.get_dims(), dims {0});
    EXPECT_EQ(scratchpad.get_mem_size(), 0u);
}

} // namespace
} // namespace dynquant::test
