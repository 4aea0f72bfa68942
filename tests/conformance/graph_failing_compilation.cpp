// What the compilation of an op or a layer has made when an allocation fails is freed. Not under sanitizers: where the
// copy of an attribute throws, libstdc++ 12 runs into its own __builtin_unreachable(), as its variants of vectors and
// strings count as never without a value.
#include "support/failing_allocations.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

/// The library's functions report it so.
bool is_out_of_memory(const dnnl::error &e) {
    return e.status == dnnl_out_of_memory;
}

TEST(graph_failing_compilation, of_an_op_and_its_compilation) {
    const dg::engine cpu(dg::engine::kind::cpu, 0);
    const auto make = [&] {
        dg::op op(0, kind::DynamicQuantize, {f32(0, {2, 3}), f32(1, {3}), s32(2, {3})}, {u8(3, {2, 3})}, "q");
        op.set_attr<std::string>(attr::qtype, "per_channel").set_attr<std::int64_t>(attr::axis, 1);
        const dg::partition partition(op, dg::engine::kind::cpu);
        partition.compile({f32(0, {2, 3}), f32(1, {3}), s32(2, {3})}, {u8(3, {2, 3})}, cpu);
    };
    EXPECT_GT(failed_allocations<dnnl::error>(make, is_out_of_memory), 10);
}

TEST(graph_failing_compilation, of_a_layer) {
    const dg::engine cpu(dg::engine::kind::cpu, 0);
    const lt x = u8(0, {2, 3}),
             w(1, lt::data_type::s8, dims {3, 2}, lt::layout_type::strided, lt::property_type::constant);
    const lt scale = f32(2, {1}), x_real = f32(3, {2, 3}), w_real = f32(4, {3, 2}), y = f32(5, {2, 2});
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op({10, kind::DynamicDequantize, {x, scale}, {x_real}, "dx"});
    graph.add_op({11, kind::DynamicDequantize, {w, scale}, {w_real}, "dw"});
    graph.add_op({12, kind::MatMul, {x_real, w_real}, {y}, "product"});
    graph.finalize();
    const auto partitions = graph.get_partitions(); // in which oneDNN allocates thousands of times
    ASSERT_EQ(partitions.size(), 1U);
    const auto make = [&] { partitions[0].compile({x, scale, w, scale}, {y}, cpu); };
    EXPECT_GT(failed_allocations<dnnl::error>(make, is_out_of_memory), 10);
}

} // namespace
} // namespace dynquant::test
