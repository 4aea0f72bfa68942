// What is as fast in ONNX Runtime, by measurement.
#include <algorithm>
#include <cmath>

#include "layers/match/describe.hpp"
#include "onnx/element_type.hpp"
#include "onnxruntime/common/integer_cost.hpp"
#include "onnxruntime/common/weight_only_cost.hpp"
#include "onnxruntime/provider/left_to_ort.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"

namespace dynquant::onnxruntime {
namespace {

namespace type = onnx::type;

/// Channels that are the last dimension of several, with a parameter for each.
bool is_channels_last(const graph &g, const node &n) {
    const auto &scale = g.input(n, 1);
    const auto &x = g.input(n, 0);
    const auto rank = x.shape ? std::ssize(*x.shape) : 0;
    const auto axis = n.get("axis", std::int64_t {1});
    return scale.shape && scale.shape->size() == 1 && scale.shape->front() != 1 && rank > 1
            && (axis < 0 ? axis + rank : axis) == rank - 1;
}

} // namespace

std::string fast_in_ort_quantization(const graph &g, const node &n) {
    if (n.is(op::dynamic_quantize_linear)) {
        // Up to 2048 elements 1.04 to 1.3, since a fused node costs 0.2 us more than one of ONNX Runtime's; 2560 to
        // 4096 0.94 to 1.01; Zen 4; 2026-11-28; `scripts/measure surroundings --only Dynamic`. It looks for the
        // extremes of more on one thread.
        const auto &x = g.input(n, 0).shape;
        return is_known(x) && volume(*x).value_or(4096) <= 2048 ? "ONNX Runtime's is as fast for so few elements" : "";
    }
    // For these types and granularities it takes at most three times as long; processor and command not written down;
    // 2026-11-23.
    const auto s = sides_of(g, n);
    const bool is_fast = s.real == type::float32 && s.scale == type::float32
            && (onnx::type_set {type::uint8, type::int8, type::uint16, type::int16, type::int32}).contains(s.quantized)
            && n.get("block_size", std::int64_t {0}) == 0 && !is_channels_last(g, n);
    return is_fast ? "ONNX Runtime has a fast kernel for it" : "";
}

std::string fast_in_ort_product(const graph &g, const node &n) try {
    if (n.is(op::mat_mul_integer) && targets::has(environment::usable_features(), targets::neon))
        return "ONNX Runtime has fast ones for 64-bit ARM, where this one is not measured";
    const auto d = layers::match::describe(g, n);
    // ONNX Runtime multiplies int8 filters in plain code, and has no zero point for each filter, nor dilations with
    // SAME.
    const bool has_zero_points = n.has(3) && g.input(n, 3).shape != dims {};
    const bool is_slow = d.w_is_signed || has_zero_points || d.window.auto_pad != "NOTSET";
    if (d.is_convolution && (is_slow || volume(d.weights_shape) == 0)) return {};
    auto c = layers::convolution_of(d, environment::usable_features());
    c.batch = 1; // the costs of one of several images or matrices
    auto x = g.input(n, 0).shape.value_or(dims {});
    const auto set_unknown = [&](std::int64_t typical) {
        std::ranges::replace_if(
                x, [](std::int64_t extent) { return extent < 0; }, typical);
    };
    if (d.is_convolution) {
        x.resize(d.weights_shape.size(), -1);
        set_unknown(std::llround(std::pow(1024, 1 / (static_cast<double>(x.size()) - 2)))); // the extents of an image
        c.window = layers::make_window(d.window, dims(x.begin() + 2, x.end()), c.window.kernel);
    } else {
        x.insert(x.begin(), x.size() < 2 ? 2 - x.size() : 0, g.input(n, 0).shape ? 1 : -1);
        set_unknown(16); // rows, the middle of 1 to 256
        const bool has_several = g.input(n, 1).known->shape.size() > 2;
        const dims of_rows(has_several ? x.end() - 2 : x.begin(), x.end() - 1);
        c.window = layers::window_of_products(volume(of_rows).value_or(layers::max_extent));
    }
    if (volume(c.window.y).value_or(0) == 0) return {};
    return costs_less_in_ort(c, d.w_is_signed) ? "ONNX Runtime's is as fast without operators around it" : "";
} catch (const error &) {
    return {}; // who compiles it says what is wrong
}

std::string fast_in_ort_weight_only(
        const graph &g, const layers::match::layer_match &m, const matmul_nbits_in_ort &there) {
    if (!targets::has(environment::usable_features(), targets::avx2)) return "without AVX2 it is not measured";
    const auto &product = g.nodes[m.product];
    weight_only_extents e {product.is(op::conv)};
    e.rows = e.is_convolution ? 1024 : 16; // where they are known when it runs: an image, the middle of 1 to 256 rows
    e.has_windows = e.is_convolution && !layers::match::is_pointwise(product, m.weights.shape);
    const auto &of_rows = e.has_windows ? g.output(product).shape : g.input(product, 0).shape;
    if (of_rows && of_rows->size() > (e.is_convolution ? 2 : 0)) {
        const auto rows = e.is_convolution ? dims(of_rows->begin() + 2, of_rows->end())
                                           : dims(of_rows->begin(), of_rows->end() - 1);
        constexpr auto most = std::int64_t {1} << 44;
        if (is_known(rows)) e.rows = std::min(volume(rows).value_or(most), most);
    }
    if (there.block != 0) {
        // Of one to 128 rows, Zen 4, one thread, ONNX Runtime 1.32, 2026-11-29: 16 columns take 0.95 to 1.3 times as
        // long here; by floats 64 rows 0.94 to 1.07 times, 512 rows 1.05 to 1.22.
        const bool is_by_floats = m.weights.x_block == 0;
        // By blocks, panels of 32 columns and one to eight rows of x, weights of 8 bits take 0.85 to 0.94 times as long
        // where columns fill them, 0.97 to 1.08 for 48 columns, 1.08 to 1.4 for 37; of 4 bits less. The same day.
        const auto columns = m.weights.columns;
        const bool fill_panels = is_by_floats || 9 * columns >= 8 * round_up(columns, std::int64_t {32});
        if (columns < 32 || !fill_panels) return "ONNX Runtime's MatMulNBits is as fast for so few columns";
        if (is_by_floats && e.rows >= 64) return "ONNX Runtime's MatMulNBits is as fast for so many rows";
        return {};
    }
    // Weights that ONNX Runtime's MatMulNBits dequantizes take it 1.17 to 46 times as long.
    if (m.weights.x_block != 0 || m.weights.dequantize == none) return {};
    const auto &w = m.weights;
    using layers::match::scales_of;
    e.inner = w.inner;
    e.columns = w.columns;
    if (e.has_windows) {
        e.groups = std::max<std::int64_t>(product.get("group", std::int64_t {1}), 1);
        e.columns = ceil_div(e.columns, e.groups);
        const auto &shape = w.shape;
        if (volume(shape).value_or(0) > 0) {
            e.taps = *volume(dims(shape.begin() + 2, shape.end()));
            e.taps_of_line = shape.back();
        }
    }
    e.block = w.block;
    e.weights = *g.values[w.quantized].type;
    e.scales_are_along_rows = volume(g.values[w.scale].known->shape) != 1 && w.scales != scales_of::all
            && w.is_transposed != (w.scales == scales_of::columns);
    return costs_less_in_ort(e, environment::usable_features()) ? "ONNX Runtime's nodes are as fast for such extents"
                                                                : "";
}

} // namespace dynquant::onnxruntime
