// The shortest oneDNN Graph program: quantizes a 2 x 3 tensor, each column by its own scale and zero point. The program
// minimal_onednn is this one with oneDNN's header and namespace: it fails.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <dynquant/graph.hpp>

namespace dg = dynquant::graph; // the one line that differs: dnnl::graph

int main() {
    using dg::logical_tensor, dg::engine, dg::op;
    using type = logical_tensor::data_type;

    std::vector<float> src = {-1.0f, 0.0f, 50.0f, 0.5f, 2.5f, 200.0f};
    std::vector<float> scales = {0.01f, 0.01f, 1.0f};
    std::vector<std::int32_t> zps = {128, 0, 20};
    std::vector<std::uint8_t> dst(src.size());

    // The tensors, identified by ids, and the op that connects them.
    const logical_tensor::dims shape = {2, 3}, columns = {3};
    const auto dense = logical_tensor::layout_type::strided;
    const logical_tensor x(0, type::f32, shape, dense), s(1, type::f32, columns, dense);
    const logical_tensor z(2, type::s32, columns, dense), y(3, type::u8, shape, dense);
    op quantize(0, op::kind::DynamicQuantize, {x, s, z}, {y}, "quantize");
    quantize.set_attr<std::string>(op::attr::qtype, "per_channel");
    quantize.set_attr<std::int64_t>(op::attr::axis, 1);

    dg::graph graph(engine::kind::cpu);
    graph.add_op(quantize);
    graph.finalize();

    const engine cpu(engine::kind::cpu, 0);
    dg::stream stream(cpu);
    const auto compiled = graph.get_partitions().front().compile({x, s, z}, {y}, cpu);
    compiled.execute(
            stream, {{x, cpu, src.data()}, {s, cpu, scales.data()}, {z, cpu, zps.data()}}, {{y, cpu, dst.data()}});

    for (const int value : dst)
        std::cout << value << ' '; // 28 0 70 178 250 220
    std::cout << std::endl;
    if (std::cout) return 0;
    std::cerr << "minimal: cannot write to stdout\n";
    return 1;
}
