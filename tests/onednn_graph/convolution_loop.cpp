// Measures a oneDNN convolution and a quantization in turn, in a program that knows only oneDNN. Run it plain and with
// the drop-in preloaded. Where oneDNN uses OpenMP, two thread pools would compete here.
// usage: drop_in_convolution_loop [SIDE]    (of the image; 56)
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

namespace {

using namespace dnnl::graph;
using lt = logical_tensor;
using type = lt::data_type;
using dims = lt::dims;

double microseconds(const std::function<void()> &f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

int main(int argc, char **argv) {
    const std::int64_t side = argc > 1 ? std::atoll(argv[1]) : 56, channels = 64;
    const auto strided = lt::layout_type::strided;
    const lt image(
            0, type::f32, dims {1, channels, side, side}, dims {side * side * channels, 1, side * channels, channels});
    const lt weights(1, type::f32, dims {channels, channels, 3, 3}, strided, lt::property_type::constant);
    const lt features(2, type::f32, image.get_dims(), image.get_strides());
    const lt scale(3, type::f32, dims {1}, strided), zero_point(4, type::u8, dims {1}, strided);
    const lt quantized(5, type::u8, image.get_dims(), image.get_strides());

    op convolution(1, op::kind::Convolution, {image, weights}, {features}, "convolution");
    convolution.set_attr(op::attr::strides, dims {1, 1}).set_attr(op::attr::dilations, dims {1, 1});
    convolution.set_attr(op::attr::pads_begin, dims {1, 1}).set_attr(op::attr::pads_end, dims {1, 1});
    convolution.set_attr<std::string>(op::attr::data_format, "NCX")
            .set_attr<std::string>(op::attr::weights_format, "OIX");
    op quantize(2, op::kind::DynamicQuantize, {features, scale, zero_point}, {quantized}, "quantize");

    graph g(engine::kind::cpu);
    g.add_op(convolution);
    g.add_op(quantize);
    g.finalize();
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const auto partitions = g.get_partitions();
    const auto compile = [&](std::size_t op_id, const std::vector<lt> &in, const lt &out) {
        const auto own = [=](const partition &p) { return p.get_ops() == std::vector<std::size_t> {op_id}; };
        return std::find_if(partitions.begin(), partitions.end(), own)->compile(in, {out}, cpu);
    };
    const auto convolve = compile(1, {image, weights}, features);
    const auto round = compile(2, {features, scale, zero_point}, quantized);

    const auto size = static_cast<std::size_t>(channels * side * side);
    std::vector<float> pixels(size, 0.5F), results(size),
            filter(static_cast<std::size_t>(channels * channels * 9), 0.01F);
    std::vector<float> step {0.05F};
    std::vector<std::uint8_t> zero {3}, bytes(size);
    const tensor x(image, cpu, pixels.data()), w(weights, cpu, filter.data()), y(features, cpu, results.data());
    const tensor sc(scale, cpu, step.data()), zp(zero_point, cpu, zero.data()), q(quantized, cpu, bytes.data());

    std::vector<double> convolutions, both;
    for (int i = 0; i < 1500; ++i) {
        const auto alone = microseconds([&] { convolve.execute(s, {x, w}, {y}); });
        const auto rounding = microseconds([&] { round.execute(s, {y, sc, zp}, {q}); });
        convolutions.push_back(alone);
        both.push_back(alone + rounding);
    }
    for (auto *times : {&convolutions, &both})
        std::sort(times->begin(), times->end());
    std::cout << "convolution " << convolutions[convolutions.size() / 2] << " us, with quantize "
              << both[both.size() / 2] << " us (medians of " << both.size() << ")\n";
}
