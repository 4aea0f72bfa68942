// Quantizes a float32 .npy file to u8 by scales and zero points that are computed from it: once for the whole tensor,
// once for each channel along the last axis. Prints what each costs and loses, and writes what the channels gave.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dynquant/quantization.hpp>

#include "command_line/new_files.hpp"
#include "command_line/run.hpp"
#include "npy/npy.hpp"

namespace {
namespace dq = dynquant;

struct quantized {
    std::vector<std::uint8_t> codes, zero_points;
    std::vector<float> scales, restored;
};

/// Computes scales and zero points from x for blocks of it, x's codes by them, and what they stand for.
quantized quantize(const npy::tensor<float> &x, const dq::dims &block, std::int64_t blocks) {
    const auto volume = static_cast<std::size_t>(x.volume), parameters = static_cast<std::size_t>(blocks);
    quantized result {std::vector<std::uint8_t>(volume), std::vector<std::uint8_t>(parameters),
            std::vector<float>(parameters), std::vector<float>(volume)};
    dq::quantization q;
    q.src = {dq::data_type::f32, x.dims, x.strides};
    q.dst = {dq::data_type::u8, x.dims, x.strides};
    q.scales = {dq::data_type::f32, block};
    q.zero_points = dq::parameter {dq::data_type::u8, block};
    q.rule = dq::numerics::onnx;
    q.computed = dq::presets::onnx();
    q.computed->special = dq::nonfinite::skip; // NaN and infinities become 0
    dq::arguments buffers;
    buffers.src = x.data.get();
    buffers.dst = result.codes.data();
    buffers.computed_scales = result.scales.data();
    buffers.computed_zero_points = result.zero_points.data();
    dq::prepare(q).run(buffers);

    q.dir = dq::direction::dequantize;
    std::swap(q.src, q.dst);
    q.computed.reset();
    dq::prepare(q).run({result.codes.data(), result.scales.data(), result.zero_points.data(), result.restored.data()});
    return result;
}

/// Prints the bytes of codes and parameters, and the signal to quantization noise ratio of the finite elements.
void print(const char *granularity, const npy::tensor<float> &x, const quantized &result) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i < result.restored.size(); ++i) {
        const double value = x.data.get()[i], error = value - result.restored[i];
        if (!std::isfinite(value)) continue;
        signal += value * value;
        noise += error * error;
    }
    const auto bytes = result.codes.size() + result.zero_points.size() + result.scales.size() * sizeof(float);
    const double ratio = noise == 0 ? INFINITY : signal / noise;
    std::printf("%s %zu bytes, SQNR %.2f dB\n", granularity, bytes, 10 * std::log10(ratio));
}

void quantize_file(const std::filesystem::path &file) {
    const auto x = npy::read<float>(file);
    std::printf("float32:     %zu bytes\n", static_cast<std::size_t>(x.volume) * sizeof(float));
    auto result = quantize(x, dq::per_tensor(x.dims), 1);
    print("per tensor: ", x, result);
    if (!x.dims.empty()) {
        result = quantize(x, dq::per_channel(x.dims, -1), x.dims.back());
        print("per channel:", x, result);
    }
    const auto name = file.stem().string() + ".u8";
    const auto parameters = std::ssize(result.scales);
    command_line::new_files files;
    files.write(name + ".npy", npy::bytes_of(result.codes.data(), x.dims, x.fortran_order));
    files.write(name + ".scales.npy", npy::bytes_of(result.scales.data(), {parameters}, false));
    files.write(name + ".zps.npy", npy::bytes_of(result.zero_points.data(), {parameters}, false));
    files.commit();
}

int run(int argc, char **argv) {
    if (argc != 2)
        throw command_line::usage_error("expected FILE.npy, given " + std::to_string(argc - 1) + " arguments");
    try {
        quantize_file(argv[1]);
    } catch (const std::runtime_error &e) {
        throw std::runtime_error(argv[1] + std::string(": ") + e.what());
    }
    return command_line::success;
}

} // namespace

int main(int argc, char **argv) {
    return command_line::run("quantize_npy", run, argc, argv);
}
