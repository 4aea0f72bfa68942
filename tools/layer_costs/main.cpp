// layer_costs: times random convolutions by each algorithm that may compute them, on one thread, and prints for each a
// line of JSON: what it is, what src/layers/conv/cost.hpp counts of it, and nanoseconds. Or counts what
// other layers cost, which it is told.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <random>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "dynquant/version.hpp"
#include "layers/conv/cost.hpp"
#include "layers/layer/layer.hpp"
#include "onnxruntime/common/integer_cost.hpp"
#include "onnxruntime/common/weight_only_cost.hpp"
#include "parallel/executor.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

struct convolution {
    layer_description d;
    dims x;
    std::vector<std::byte> weights;
};

class generator {
  public:
    explicit generator(std::uint64_t seed)
        : engine_(seed) {}

    /// Of at most 2^25 products and 2^21 elements of x and y.
    convolution draw() {
        for (;;) {
            auto c = draw_any();
            const auto &w = c.d.weights_shape;
            auto positions = 1.0;
            for (std::size_t i = 2; i < c.x.size(); ++i)
                positions *= static_cast<double>(c.x[i]);
            const auto products = static_cast<double>(*volume(w)) * positions;
            const auto elements = positions * static_cast<double>(std::max(c.x[1], w[0]));
            if (products > 1 << 25 || elements > 1 << 21 || products < 2000) continue;
            return c;
        }
    }

  private:
    std::int64_t within(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
    }
    std::int64_t log_within(double least, double most) {
        return std::llround(std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(engine_)));
    }
    std::int64_t one_of(std::initializer_list<std::int64_t> values) {
        return values.begin()[within(0, std::ssize(values) - 1)];
    }

    convolution draw_any() {
        convolution c;
        auto &d = c.d;
        d.label = "layer";
        d.is_convolution = true;
        d.result = result_type::f32;
        d.post_ops = {{post_op_kind::multiply, {0.5F}}};
        d.x_is_signed = within(0, 3) == 0;
        const auto rank = one_of({1, 2, 2, 2, 2, 3});
        const bool is_depthwise = within(0, 3) == 0;
        const auto channels = log_within(1, is_depthwise ? 200 : 128), filters = log_within(1, 128);
        d.groups = is_depthwise ? channels : 1;
        d.weights_shape = {is_depthwise ? channels : filters, is_depthwise ? 1 : channels};
        c.x = {1, channels};
        const auto stride = one_of({1, 1, 1, 2}), dilation = one_of({1, 1, 1, 2, 8}), kernel = one_of({1, 3, 3, 5, 7});
        d.window.auto_pad = "SAME_UPPER";
        for (std::int64_t i = 0; i < rank; ++i) {
            d.weights_shape.push_back(kernel);
            d.window.strides.push_back(stride);
            d.window.dilations.push_back(dilation);
            c.x.push_back(rank == 1 ? log_within(8, 200000) : rank == 2 ? log_within(3, 300) : log_within(2, 60));
        }
        d.x_zero_point = 3;
        if (within(0, 1) == 0) d.w_zero_points = {5};
        for (auto i = *volume(d.weights_shape); i > 0; --i)
            c.weights.push_back(static_cast<std::byte>(within(0, 127)));
        return c;
    }

    std::mt19937_64 engine_;
};

/// The least of some runs.
double nanoseconds(const layer &l, const std::vector<std::byte> &x, std::vector<float> &y, workspace &memory) {
    using clock = std::chrono::steady_clock;
    auto least = 1e300;
    const auto end = clock::now() + std::chrono::milliseconds(3);
    for (int run = 0; run < 5 || clock::now() < end; ++run) {
        const auto begin = clock::now();
        l.run({x.data(), y.data()}, memory);
        least = std::min(least, std::chrono::duration<double, std::nano>(clock::now() - begin).count());
    }
    return least;
}

void print(const char *name, algorithm a, const convolution &c) {
    const packed_layer packed(c.d, c.weights.data(), environment::usable_features(), a);
    const layer l(packed, c.x);
    if (volume(l.y()) == 0) return;
    auto p = packed.convolution();
    p.batch = c.x[0];
    p.window = make_window(c.d.window, dims(c.x.begin() + 2, c.x.end()), p.window.kernel);
    const auto counts = counts_of(a, p);
    if (!std::isfinite(counts[0])) return;
    std::vector<std::byte> x(static_cast<std::size_t>(*volume(c.x)), std::byte {7});
    std::vector<float> y(static_cast<std::size_t>(*volume(l.y())));
    workspace memory;
    const nlohmann::json line = {{"algorithm", name}, {"x", c.x}, {"w", c.d.weights_shape}, {"groups", c.d.groups},
            {"strides", c.d.window.strides}, {"dilations", c.d.window.dilations}, {"x_is_signed", c.d.x_is_signed},
            {"zero_points", !c.d.w_zero_points.empty()}, {"counts", counts}, {"cost", cost_of(a, p)},
            {"nanoseconds", nanoseconds(l, x, y, memory)}};
    std::cout << line << '\n';
}

/// Reads lines of JSON from stdin.
void count_weight_only() {
    for (std::string line; std::getline(std::cin, line);) {
        const auto of = nlohmann::json::parse(line);
        const std::string weights = of["weights"];
        const auto type = weights == "int4" ? data_type::s4 : weights == "float8" ? data_type::f8_e4m3 : data_type::s8;
        onnxruntime::weight_only_extents e {of["is_convolution"], of["rows"], of["inner"], of["columns"], of["block"],
                type, of["scales_are_along_rows"]};
        if (of.contains("groups")) {
            e.has_windows = true;
            e.groups = of["groups"];
            e.taps = of["taps"];
            e.taps_of_line = of["taps_of_line"];
        }
        const auto available = environment::usable_features();
        const auto counts = onnxruntime::counts_of(e, available);
        std::cout << nlohmann::json {{"here", counts.here}, {"in_ort", counts.in_ort},
                {"left", onnxruntime::costs_less_in_ort(e, available)}}
                  << '\n';
    }
}

/// Reads lines of JSON from stdin: x, w, stride, dilation and groups of convolutions, whose pads keep the extents but
/// for the stride, or of products.
void count_integer() {
    for (std::string line; std::getline(std::cin, line);) {
        const auto of = nlohmann::json::parse(line);
        const dims x = of["x"], w = of["w"];
        integer_convolution p;
        p.available = environment::usable_features();
        p.batch = 1;
        p.groups = of["groups"];
        const bool w_is_signed = of["weights"] == "int8";
        if (!w_is_signed) p.w_zero_points = {1}; // int8 weights are symmetric
        p.is_channels_first = w.size() > 2;
        p.channels = x[1];
        p.filters = w[p.is_channels_first ? 0 : 1];
        if (p.is_channels_first) {
            window_attributes window {"SAME_UPPER"};
            window.strides.assign(x.size() - 2, of["stride"]);
            window.dilations.assign(x.size() - 2, of["dilation"]);
            p.window = make_window(window, dims(x.begin() + 2, x.end()), dims(w.begin() + 2, w.end()));
        } else {
            p.window = window_of_products(x[0]);
        }
        std::cout << nlohmann::json {{"here", least_cost(p)}, {"in_ort", onnxruntime::counts_in_ort(p)},
                {"left", onnxruntime::costs_less_in_ort(p, w_is_signed)}}
                  << '\n';
    }
}

} // namespace
} // namespace dynquant::layers

int main(int argc, char **argv) {
    using namespace dynquant;
    CLI::App app("Times random convolutions by each algorithm, for `scripts/measure costs`.");
    int count = 400;
    std::uint64_t seed = 1;
    app.add_option("--count", count, "how many")->capture_default_str();
    app.add_option("--seed", seed, "of the random numbers")->capture_default_str();
    app.set_version_flag("--version",
            std::to_string(DYNQUANT_VERSION_MAJOR) + "." + std::to_string(DYNQUANT_VERSION_MINOR) + "."
                    + std::to_string(DYNQUANT_VERSION_PATCH));
    bool counts_weight_only = false;
    app.add_flag("--weight-only", counts_weight_only, "count what the layers on stdin cost, and time nothing");
    bool counts_integer = false;
    app.add_flag(
            "--integer", counts_integer, "count what the convolutions and products on stdin cost, and time nothing");
    CLI11_PARSE(app, argc, argv);
    if (counts_integer) {
        layers::count_integer();
        return 0;
    }
    if (counts_weight_only) {
        layers::count_weight_only();
        return 0;
    }
    const parallel::executor here {[] { return 1; }, parallel::run_here, parallel::tbb_executor.elements_per_part};
    const parallel::scoped_executor on_one_thread(here);
    layers::generator draw(seed);
    for (int i = 0; i < count; ++i) {
        const auto c = draw.draw();
        layers::print("im2col", layers::algorithm::im2col, c);
        if (c.d.groups > 1) layers::print("depthwise", layers::algorithm::depthwise, c);
        layers::print("channels_first", layers::algorithm::channels_first, c);
    }
}
