// A two-layer MLP by oneDNN's Graph API alone, 64 x 768 -> 3072 -> 768: 8-bit weights with a scale for each column, x
// quantized at each run with a scale for each row, ReLU between. It prints the median time of a run and the largest
// error beside f32. Run it plain, and with dynquant's drop-in, by which a layer is one product of integers:
//     build/release/examples/int8_mlp
//     LD_PRELOAD=build/release/src/libdynquant_onednn_graph.so build/release/examples/int8_mlp
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <random>

using namespace dnnl::graph;
using lt = logical_tensor;
using floats = std::vector<float>; // matrices are row-major
constexpr int rows = 64;
constexpr auto f32 = lt::data_type::f32, s8 = lt::data_type::s8;
constexpr auto dense = lt::layout_type::strided;
engine cpu(engine::kind::cpu, 0);
stream on_cpu(cpu);
template <typename T = float>
std::vector<T> uniform(int size, float least, float most) {
    static std::mt19937 bits(1);
    std::vector<T> result(size);
    for (auto &v : result)
        v = static_cast<T>(least + (most - least) * static_cast<float>(bits() >> 8) * 0x1p-24F);
    return result;
}

struct layer { // y = x * w + bias, and perhaps ReLU
    int k, n;
    std::vector<signed char> w = uniform<signed char>(k * n, -127, 128), x8 = std::vector<signed char>(rows * k);
    floats w_scales = uniform(n, 0x1p-13F, 0x1p-12F), bias = uniform(n, -1, 1), x_scales = floats(rows);
    floats x_real = floats(rows * k), w_real = floats(k * n), y = floats(rows * n);
    std::vector<compiled_partition> partitions = {};
    std::vector<std::vector<tensor>> inputs = {}, outputs = {}; // of the partitions
    void compile(floats &x, bool has_relu) {
        const lt x32(0, f32, {rows, k}, dense), scales(1, f32, lt::dims {rows}, dense), qx(2, s8, {rows, k}, dense),
                dx(3, f32, {rows, k}, dense), dw(5, f32, {k, n}, dense), b(6, f32, lt::dims {n}, dense),
                product(7, f32, {rows, n}, dense), qw(4, s8, {k, n}, dense, lt::property_type::constant);
        void *const data[] = {x.data(), x_scales.data(), x8.data(), x_real.data(), w.data(), w_real.data(), bias.data(),
                y.data(), y.data()}; // by id
        op ops[] = {{0, op::kind::DynamicQuantize, {x32, scales}, {qx}, "quantize_x"},
                {1, op::kind::DynamicDequantize, {qx, scales}, {dx}, "dequantize_x"},
                {2, op::kind::Dequantize, {qw}, {dw}, "dequantize_w"},
                {3, op::kind::MatMul, {dx, dw, b}, {product}, "product"}};
        for (int i = 0; i < 3; ++i)
            ops[i].set_attr<std::string>(op::attr::qtype, "per_channel").set_attr<std::int64_t>(op::attr::axis, i == 2);
        ops[2].set_attr(op::attr::scales, w_scales).set_attr(op::attr::zps, std::vector<std::int64_t>(n));
        graph g(engine::kind::cpu);
        for (const auto &each : ops)
            g.add_op(each);
        if (has_relu) g.add_op({4, op::kind::ReLU, {product}, {lt(8, f32, {rows, n}, dense)}, "relu"});
        g.finalize();
        for (const auto &p : g.get_partitions()) {
            partitions.push_back(p.compile(p.get_input_ports(), p.get_output_ports(), cpu));
            auto &in = inputs.emplace_back(), &out = outputs.emplace_back();
            for (const auto &t : p.get_input_ports())
                in.emplace_back(t, cpu, data[t.get_id()]);
            for (const auto &t : p.get_output_ports())
                out.emplace_back(t, cpu, data[t.get_id()]);
        }
    }
    void run(const floats &x) {
        for (int i = 0; i < rows * k; ++i)
            x_scales[i / k] = std::max(i % k == 0 ? 0x1p-100F : x_scales[i / k], std::abs(x[i]) / 127);
        for (std::size_t i = 0; i < partitions.size(); ++i)
            partitions[i].execute(on_cpu, inputs[i], outputs[i]);
        on_cpu.wait();
    }
    floats in_f32(const floats &x, float least) const {
        floats result(rows * n);
        for (int i = 0; i < rows * n; ++i) {
            for (int j = 0; j < k; ++j)
                result[i] += x[i / n * k + j] * static_cast<float>(w[j * n + i % n]) * w_scales[i % n];
            result[i] = std::max(result[i] + bias[i % n], least);
        }
        return result;
    }
};

int main() {
    layer first {768, 3072}, second {3072, 768};
    auto x = uniform(rows * first.k, -1, 1);
    first.compile(x, true);
    second.compile(first.y, false);
    std::vector<double> times(31);
    for (auto &ms : times) {
        const auto start = std::chrono::steady_clock::now();
        first.run(x);
        second.run(first.y);
        ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }
    std::nth_element(times.begin(), times.begin() + 15, times.end());
    const auto expected = second.in_f32(first.in_f32(x, 0), -INFINITY);
    float error = 0;
    for (int i = 0; i < rows * second.n; ++i)
        error = std::max(error, std::abs(second.y[i] - expected[i]));
    std::cout << times[15] << " ms, largest error " << error << std::endl;
}
