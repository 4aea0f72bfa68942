// What a call of the graph API has made when an allocation fails is freed. A separate program, because counting_new.cpp
// replaces operator new.
#include "support/failing_allocations.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

/// The library's functions report it so.
bool is_out_of_memory(const dnnl::error &e) {
    return e.status == dnnl_out_of_memory;
}

TEST(graph_failing_allocation, of_partitions_loses_none) {
    dg::graph graph(dg::engine::kind::cpu);
    for (std::size_t i = 0; i < 5; ++i) {
        dg::op op(i, kind::Quantize, {f32(2 * i, {2})}, {u8(2 * i + 1, {2})});
        op.set_attr(attr::scales, std::vector<float> {1});
        op.set_attr(attr::zps, std::vector<std::int64_t> {0});
        graph.add_op(op);
    }
    graph.finalize();
    ASSERT_EQ(graph.get_partitions().size(), 5U);
    // Each call drops the partitions that the graph kept from the one before.
    const auto make = [&] {
        graph.get_partitions();
        graph.get_partitions();
    };
    const auto failed = failed_allocations<dnnl::error>(make, is_out_of_memory);
    EXPECT_GT(failed, 10); // a record and a handle for each partition
}

} // namespace
} // namespace dynquant::test
