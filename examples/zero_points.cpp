// x of u8 by w of s8, which has a scale and a zero point for each column, in a program that knows oneDNN only. oneDNN
// computes no DynamicDequantize with several zero points. With dynquant's drop-in the three ops are one layer.
#include <cstdint>
#include <iostream>
#include <oneapi/dnnl/dnnl_graph.hpp>

using namespace dnnl::graph;
using lt = logical_tensor;
using type = lt::data_type;
using dims = lt::dims; // for one dim; {2} by itself is a rank

int main() {
    std::uint8_t x[] = {130, 126, 129, 120, 132, 124}; // rows (1, -1, 0.5) and (-4, 2, -2): 0.5 (x - 128)
    std::int8_t w[] = {5, 0, 9, -1, -3, 2};            // columns (1, 2, -1) and (4, 2, 8): 0.25 (w - 1) and 2 (w + 2)
    float x_scale[] = {0.5f}, w_scales[] = {0.25f, 2.0f}, x_real[6], w_real[6], y[4];
    std::int32_t x_zp[] = {128}, w_zps[] = {1, -2};
    void *const data[] = {x, x_scale, x_zp, w, w_scales, w_zps, x_real, w_real, y}; // by the tensors' ids
    const auto dense = lt::layout_type::strided;
    const lt t[] = {{0, type::u8, {2, 3}, dense}, {1, type::f32, dims {1}, dense}, {2, type::s32, dims {1}, dense},
            {3, type::s8, {3, 2}, dense}, {4, type::f32, dims {2}, dense}, {5, type::s32, dims {2}, dense},
            {6, type::f32, {2, 3}, dense}, {7, type::f32, {3, 2}, dense}, {8, type::f32, {2, 2}, dense}};
    op x_op(0, op::kind::DynamicDequantize, {t[0], t[1], t[2]}, {t[6]}, "x");
    op w_op(1, op::kind::DynamicDequantize, {t[3], t[4], t[5]}, {t[7]}, "w");
    w_op.set_attr<std::string>(op::attr::qtype, "per_channel").set_attr<std::int64_t>(op::attr::axis, 1);
    graph g(engine::kind::cpu);
    g.add_op(x_op), g.add_op(w_op), g.add_op({2, op::kind::MatMul, {t[6], t[7]}, {t[8]}, "product"});
    g.finalize();
    engine cpu(engine::kind::cpu, 0);
    stream on_cpu(cpu);
    for (const auto &part : g.get_partitions()) { // one with the drop-in, three without it
        std::vector<tensor> in, out;
        for (const auto &port : part.get_input_ports())
            in.emplace_back(port, cpu, data[port.get_id()]);
        for (const auto &port : part.get_output_ports())
            out.emplace_back(port, cpu, data[port.get_id()]);
        part.compile(part.get_input_ports(), part.get_output_ports(), cpu).execute(on_cpu, in, out);
    }
    on_cpu.wait();
    std::cout << y[0] << ' ' << y[1] << ' ' << y[2] << ' ' << y[3] << std::endl; // -1.5 6 2 -28
}
