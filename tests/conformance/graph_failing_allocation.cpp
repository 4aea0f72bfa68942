// What a call has made when an allocation fails is freed. A separate program, because counting_new.cpp replaces
// operator new.
#include <new>

#include "support/counting_new.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

TEST(graph_failing_allocation, of_partitions_loses_none) {
    dg::graph graph(dg::engine::kind::cpu);
    for (std::size_t i = 0; i < 5; ++i) {
        dg::op op(i, kind::Quantize, {f32(2 * i, {2})}, {u8(2 * i + 1, {2})});
        op.set_attr(attr::scales, std::vector<float> {1});
        op.set_attr(attr::zps, std::vector<std::int64_t> {0});
        graph.add_op(op);
    }
    graph.finalize();
    // Each call drops the partitions that the graph kept from the one before.
    EXPECT_EQ(graph.get_partitions().size(), 5u);
    const long before = live_allocations();
    bool thrown = true;
    long count = 0;
    for (; thrown; ++count) {
        thrown = false;
        fail_allocation_after(count);
        try {
            graph.get_partitions();
        } catch (const std::bad_alloc &) {
            thrown = true;
        } catch (const dnnl::error &e) { // as the library's functions report it
            ASSERT_EQ(e.status, dnnl_out_of_memory) << e.what();
            thrown = true;
        }
        fail_allocation_after(-1);
        graph.get_partitions();
        ASSERT_EQ(live_allocations(), before) << "after allocation " << count << " failed";
    }
    EXPECT_GT(count, 10); // a record and a handle for each partition
}

} // namespace
} // namespace dynquant::test
