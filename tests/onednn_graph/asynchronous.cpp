// A program that knows only oneDNN and waits for its stream once, after all executions. It prints the results of a
// Quantize that follows a ReLU. With SYCL it calls SYCL's execute. With the argument "gpu" it only counts the
// partitions of a GPU's graph.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

// Declared in dnnl_graph_sycl.h, which some installations lack.
extern "C" dnnl_status_t dnnl_graph_sycl_interop_compiled_partition_execute(const_dnnl_graph_compiled_partition_t,
        dnnl_stream_t, size_t, const_dnnl_graph_tensor_t *, size_t, const_dnnl_graph_tensor_t *, const void *deps,
        void *sycl_event);

namespace {

using namespace dnnl::graph;
using lt = logical_tensor;

std::vector<partition> partitions_of(const op &statement, engine::kind kind) {
    graph g(kind);
    g.add_op(statement);
    g.finalize();
    return g.get_partitions();
}

void execute(const compiled_partition &compiled, stream &s, const tensor &input, const tensor &output) {
    const_dnnl_graph_tensor_t in = input.get(), out = output.get();
    const auto status = dnnl_version()->cpu_runtime == DNNL_RUNTIME_SYCL
            ? dnnl_graph_sycl_interop_compiled_partition_execute(
                    compiled.get(), s.get(), 1, &in, 1, &out, nullptr, nullptr)
            : dnnl_graph_compiled_partition_execute(compiled.get(), s.get(), 1, &in, 1, &out);
    dnnl::error::wrap_c_api(status, "could not execute");
}

} // namespace

int main(int count, char **) {
    const auto tensor_of = [](std::size_t id, lt::data_type type) {
        return lt(id, type, lt::dims {6}, lt::layout_type::strided);
    };
    const lt x = tensor_of(0, lt::data_type::f32), y = tensor_of(1, lt::data_type::f32),
             z = tensor_of(2, lt::data_type::u8);
    const op relu(1, op::kind::ReLU, {x}, {y}, "relu");
    op quantize(2, op::kind::Quantize, {y}, {z}, "quantize");
    quantize.set_attr(op::attr::scales, std::vector<float> {0.5F});
    quantize.set_attr(op::attr::zps, std::vector<std::int64_t> {0});
    if (count > 1) {
        std::cout << partitions_of(quantize, engine::kind::gpu).size() << " partition\n";
        return 0;
    }

    std::vector<float> given = {-1, 1, 300, 2.5F, -3, 8}, positive(6);
    std::vector<std::uint8_t> results(6);
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const tensor from(x, cpu, given.data()), through(y, cpu, positive.data()), to(z, cpu, results.data());
    const auto first = partitions_of(relu, engine::kind::cpu).at(0).compile({x}, {y}, cpu);
    const auto second = partitions_of(quantize, engine::kind::cpu).at(0).compile({y}, {z}, cpu);
    execute(first, s, from, through);
    execute(second, s, through, to);
    s.wait();
    for (std::size_t i = 0; i < results.size(); ++i)
        std::cout << (i == 0 ? "" : " ") << +results[i];
    std::cout << '\n';
}
