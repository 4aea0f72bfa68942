// What is as fast in ONNX Runtime, by measurement.
#include <algorithm>
#include <optional>

#include "layers/match/weight_only_weights.hpp"
#include "onnx/element_type.hpp"
#include "onnxruntime/provider/left_to_ort.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "targets/features.hpp"

namespace dynquant::onnxruntime {
namespace {

namespace type = onnx::type;

enum class layer_kind { int8_product, uint8_product, uint8_convolution, weight_only_product, weight_only_convolution };
enum class vnni { any, with, without };
using enum layer_kind;
using enum vnni;

/// The extents of a layer that measurements depend on. A convolution has its filters as columns, `of_group` of them in
/// each group, the channels of a group as inner, and its positions as rows. No rows: they are known when it runs.
struct extents {
    std::int64_t weights = 0, inner = 0, columns = 0, taps = 0, of_group = 0;
    std::optional<std::int64_t> rows = {};
    std::int64_t block = 0; // of rows of weights that share a scale
};

/// Layers that take as long here as in ONNX Runtime, or longer.
struct measurement {
    layer_kind kind;
    vnni processors;
    bool (*covers)(const extents &e);
};

// One thread computed them, beside ONNX Runtime 1.32. A comment above rows says how many times as long they take here;
// the processor; the date; the command.
constexpr measurement measurements[] = {
        // Products without steps, whose sums go through memory once more.
        // Up to 2, of single rows not written down; Zen 4; 2026-11-25; `scripts/measure layers`.
        {int8_product, with, [](auto &e) { return e.weights <= 1 << 20; }},
        {uint8_product, any, [](auto &e) { return e.weights <= 4096; }},
        // 1.11 to 1.5; Zen 4; 2026-11-28; `scripts/measure random_layers`.
        {uint8_product, any, [](auto &e) { return e.inner <= 16; }},
        {uint8_convolution, any, [](auto &e) { return e.taps == 1 && e.inner <= 128; }},
        {uint8_convolution, any, [](auto &e) { return e.taps != 1 && e.inner * e.taps <= 32 && e.columns >= 12; }},
        // The same; Zen 3; 2026-11-25; the same.
        {uint8_product, without, [](auto &e) { return e.weights <= 16384; }},
        {uint8_convolution, without, [](auto &e) { return e.taps == 1 && e.columns <= 8; }},
        {uint8_convolution, without,
                [](auto &e) { return e.taps != 1 && e.inner <= 4 && e.inner * e.taps <= 4 * e.of_group; }},
        // Weight-only products, whose steps have a pass of their own.
        // 1.6 to 2.9 by 64 rows and more; Zen 3; 2026-11-25; command not written down.
        {weight_only_product, any, [](auto &e) { return e.columns < 32; }},
        // Nothing of this row was written down but its date, 2026-11-25.
        {weight_only_product, any, [](auto &e) { return e.weights < 64 * 64; }},
        // 128 and 1024 rows by 64 x 64 1.03 and 1.14, by 128 x 128 0.98 and 1.06, by 192 x 192 0.94 and 1.00;
        // Zen 3; 2026-11-26; command not written down.
        {weight_only_product, any, [](auto &e) { return e.rows > 64 && e.weights < 192 * 192; }},
        // Short blocks have a scale for each of many sums. 1.04 to 1.33 by 8, 1.06 to 1.11 by 16; Zen 4;
        // 2026-11-28; `scripts/measure random_layers`.
        {weight_only_product, with, [](auto &e) { return e.rows >= 32 && e.block > 0 && e.block <= 8; }},
        {weight_only_product, with, [](auto &e) { return e.rows >= 48 && e.block > 0 && e.block <= 16; }},
        // Where panels of 32 columns have much padding. 1.06 to 1.22; the same.
        {weight_only_product, with,
                [](auto &e) { return e.rows >= 48 && 10 * round_up(e.columns, 32) >= 13 * e.columns; }},
        // Weight-only 1x1 convolutions, whose sums are transposed. Of the first row nothing was written down.
        {weight_only_convolution, any, [](auto &e) { return e.columns < 32 || e.weights < 64 * 64 || !e.rows; }},
        // 1.02 to 1.5, but 0.3 to 0.97 by 49 positions; Zen 3; 2026-11-25; `scripts/measure weights` has 49 positions,
        // of others the command was not written down.
        {weight_only_convolution, any, [](auto &e) { return e.rows > 49 && (e.columns < 256 || e.inner < 256); }},
        // 784 positions 1.01, up to 400 0.78 to 0.99; Zen 3; 2026-11-25; command not written down.
        {weight_only_convolution, any, [](auto &e) { return e.rows > 400; }},
};

const measurement *find(layer_kind kind, const extents &e) {
    const auto available = environment::usable_features();
    const bool has_vnni = targets::has(available, targets::avx512_vnni) || targets::has(available, targets::avx2_vnni);
    const auto other = has_vnni ? without : with;
    const auto *const found = std::ranges::find_if(
            measurements, [&](const measurement &m) { return m.kind == kind && m.processors != other && m.covers(e); });
    return found == std::ranges::end(measurements) ? nullptr : found;
}

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

std::string fast_in_ort_product(const graph &g, const node &n) {
    const auto &shape = g.input(n, 1).known->shape;
    const bool is_int8 = g.input(n, 1).type == data_type::s8;
    const auto weights = volume(shape).value_or(0);
    const measurement *found = nullptr;
    if (n.is(op::mat_mul_integer)) {
        found = find(is_int8 ? int8_product : uint8_product,
                {weights, shape.size() > 1 ? shape[shape.size() - 2] : weights});
    } else {
        // ONNX Runtime multiplies int8 weights in plain code, and has no zero point for each filter, nor dilations with
        // SAME.
        const bool has_zero_points = n.has(3) && g.input(n, 3).shape != dims {};
        if (is_int8 || weights == 0 || has_zero_points || n.get("auto_pad", std::string("NOTSET")) != "NOTSET")
            return {};
        const auto group = std::max<std::int64_t>(n.get("group", std::int64_t {1}), 1);
        found = find(
                uint8_convolution, {weights, shape[1], shape[0], weights / (shape[0] * shape[1]), shape[0] / group});
    }
    if (!found) return {};
    return concat("ONNX Runtime's is as fast ", found->processors == without ? "without VNNI and " : "",
            "without operators behind it");
}

std::string fast_in_ort_weight_only(const graph &g, const layers::match::layer_match &m) {
    if (!targets::has(environment::usable_features(), targets::avx2)) return "without AVX2 it would be slow";
    const auto &product = g.nodes[m.product];
    const auto &w = g.input(g.nodes[m.dequantize], 0).known->shape;
    const bool is_convolution = product.is(op::conv);
    const std::size_t columns = layers::match::has_transposed_weights(product) ? 0 : 1;
    extents e {volume(w).value_or(0), w[1 - columns], w[columns]};
    if (const auto &x = g.input(product, 0).shape; x && x->size() > (is_convolution ? 2 : 0)) {
        const auto rows = is_convolution ? dims(x->begin() + 2, x->end()) : dims(x->begin(), x->end() - 1);
        if (is_known(rows)) e.rows = volume(rows);
    }
    e.block = g.nodes[m.dequantize].get("block_size", std::int64_t {0});
    return find(is_convolution ? weight_only_convolution : weight_only_product, e)
            ? "ONNX Runtime's nodes are as fast for such extents"
            : "";
}

} // namespace dynquant::onnxruntime
