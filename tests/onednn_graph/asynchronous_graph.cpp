// dynquant::graph is right beside a oneDNN that defers executions until its stream is waited for.
#include <cstdlib>

#include <gtest/gtest.h>

#include "dynquant/graph.hpp"

namespace {

namespace dg = dynquant::graph;
using lt = dg::logical_tensor;

dg::compiled_partition compiled(const dg::op &op, const lt &from, const lt &to, const dg::engine &cpu) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(op);
    graph.finalize();
    return graph.get_partitions().at(0).compile({from}, {to}, cpu);
}

TEST(asynchronous, an_op_of_the_family_waits_for_what_is_on_the_stream) {
    ASSERT_EQ(setenv("CPU_RUNTIME", std::to_string(DNNL_RUNTIME_THREADPOOL).c_str(), 1), 0);
    ASSERT_EQ(dnnl_version()->cpu_runtime, DNNL_RUNTIME_THREADPOOL);
    const lt x(0, lt::data_type::f32, lt::dims {6}, lt::layout_type::strided),
            y(1, lt::data_type::f32, lt::dims {6}, lt::layout_type::strided),
            z(2, lt::data_type::u8, lt::dims {6}, lt::layout_type::strided);
    const dg::engine cpu(dg::engine::kind::cpu, 0);
    const auto first = compiled(dg::op(1, dg::op::kind::ReLU, {x}, {y}, "relu"), x, y, cpu);
    const auto second = compiled(dg::op(2, dg::op::kind::Quantize, {y}, {z}, "quantize")
                                         .set_attr(dg::op::attr::scales, std::vector<float> {0.5F}),
            y, z, cpu);

    std::vector<float> given = {-1, 1, 300, 2.5F, -3, 8}, positive(6);
    std::vector<std::uint8_t> results(6);
    const dg::tensor from(x, cpu, given.data()), through(y, cpu, positive.data()), to(z, cpu, results.data());
    dg::stream stream(cpu);
    first.execute(stream, {from}, {through});
    second.execute(stream, {through}, {to});
    // ReLU, then round(src / 0.5), at most 255.
    EXPECT_EQ(results, (std::vector<std::uint8_t> {0, 2, 255, 5, 0, 16}));
}

} // namespace
