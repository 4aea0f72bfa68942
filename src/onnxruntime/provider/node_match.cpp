#include "onnxruntime/provider/node_match.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "layers/match/matcher.hpp"
#include "layers/match/narrow_weights.hpp"
#include "onnx/element_type.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "targets/features.hpp"

namespace dynquant::onnxruntime {
namespace {

namespace type = onnx::type;

// ONNX Runtime fuses an operator of these with DequantizeLinear before it and QuantizeLinear behind it. They are those
// of its CPU provider, in versions 1.23 to 1.32 (core/optimizer/qdq_transformer/selectors_actions,
// qdq_selector_action_transformer.cc).
constexpr std::string_view moving[] = {"Expand", "Flatten", "Gather", "GatherElements", "MaxPool", "ReduceMax",
        "ReduceMin", "Reshape", "Resize", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"};
constexpr std::string_view computing[] = {"Add", "AveragePool", "Concat", "Conv", "Gemm", "GlobalAveragePool",
        "LeakyRelu", "MatMul", "Mul", "Sigmoid", "Softmax", "Where"};
// These need no QuantizeLinear: MatMul and Gemm also become MatMulNBits.
constexpr std::string_view taking[] = {"ArgMax", "Gather", "Gemm", "MatMul"};

bool is_one_of(std::span<const std::string_view> names, const node &n) {
    return n.domain.empty() && std::ranges::find(names, n.op_type) != names.end();
}

constexpr onnx::type_set bytes = {type::uint8, type::int8};
constexpr onnx::type_set shorts = {type::uint16, type::int16};
constexpr onnx::type_set integers =
        bytes | shorts | onnx::type_set {type::int32, type::uint4, type::int4, type::uint2, type::int2};

/// What is on the two sides of QuantizeLinear or DequantizeLinear.
struct sides {
    onnx::element_type real, quantized, scale;
};

sides sides_of(const graph &g, const node &n) {
    const auto x = type_of(g.input(n, 0)), y = type_of(g.output(n)), scale = type_of(g.input(n, 1));
    return n.is("QuantizeLinear") ? sides {x, y, scale} : sides {y, x, scale};
}

const node *producer_of(const graph &g, std::size_t value) {
    const auto producer = value == none ? none : g.values[value].producer;
    return producer == none ? nullptr : &g.nodes[producer];
}

/// The first node that takes a result of n and of which match(node) is true, or null.
template <typename Match>
const node *find_consumer(const graph &g, const node &n, const Match &match) {
    for (const auto output : n.outputs) {
        if (output == none) continue;
        for (const auto consumer : g.values[output].consumers)
            if (match(g.nodes[consumer])) return &g.nodes[consumer];
    }
    return nullptr;
}

bool is_limit(const node &n) {
    return n.is("Relu") || n.is("Clip");
}

/// ONNX Runtime computes the operator on quantized values, and without a Relu or Clip behind it.
bool is_between(const graph &g, const node &n, onnx::element_type quantized) {
    const auto dequantizes = [&](std::size_t input) {
        const auto *before = producer_of(g, input);
        return before && before->is("DequantizeLinear");
    };
    const auto is_quantize = [](const node &behind) { return behind.is("QuantizeLinear"); };
    const auto quantizes = [&](const node &behind) {
        return is_quantize(behind) || (is_limit(behind) && find_consumer(g, behind, is_quantize));
    };
    return ((integers.contains(quantized) && (is_one_of(moving, n) || is_one_of(computing, n)))
                   || (bytes.contains(quantized) && is_limit(n)))
            && std::ranges::any_of(n.inputs, dequantizes) && find_consumer(g, n, quantizes);
}

/// A product, or what only changes the type or shape of its weights: ONNX Runtime makes MatMulNBits of them.
bool leads_to_product(const graph &g, const node &n) {
    return is_one_of(taking, n)
            || ((n.is("Cast") || n.is("Reshape") || n.is("Transpose"))
                    && find_consumer(g, n, [&](const node &c) { return leads_to_product(g, c); }));
}

/// The node with which ONNX Runtime may fuse or remove a QuantizeLinear, by what is before it, or null.
const node *partner_before(const graph &g, const node &quantize) {
    const auto quantized = sides_of(g, quantize).quantized;
    const auto *before = producer_of(g, quantize.inputs[0]);
    const bool found = before
            && (before->is("DequantizeLinear") || (bytes.contains(quantized) && is_limit(*before))
                    || is_between(g, *before, quantized));
    return found ? before : nullptr;
}

/// That of a DequantizeLinear, by what is behind it.
const node *partner_behind(const graph &g, const node &dequantize) {
    const auto quantized = sides_of(g, dequantize).quantized;
    const bool is_integer = integers.contains(quantized),
               is_weights = is_integer && g.input(dequantize, 0).is_constant();
    return find_consumer(g, dequantize, [&](const node &c) {
        return c.is("QuantizeLinear") || is_between(g, c, quantized) || (is_integer && is_one_of(taking, c))
                || (is_weights && leads_to_product(g, c));
    });
}

/// The node with which ONNX Runtime may fuse or remove one, or null.
const node *partner_of(const graph &g, const node &n) {
    const auto s = sides_of(g, n);
    if (s.scale != s.real || (s.scale != type::float32 && s.scale != type::float16))
        return nullptr; // it cannot even compute this one
    const bool quantizes = n.is("QuantizeLinear");
    if (const auto *found = quantizes ? partner_before(g, n) : partner_behind(g, n)) return found;
    // It makes uint8 of a pair of int8, without which operators behind or before the pair do not fuse.
    if (s.quantized != type::int8) return nullptr;
    if (quantizes)
        return find_consumer(g, n, [&](const node &c) { return c.is("DequantizeLinear") && partner_behind(g, c); });
    const auto *before = producer_of(g, n.inputs[0]);
    return before && before->is("QuantizeLinear") && partner_before(g, *before) ? before : nullptr;
}

/// A product by which ONNX Runtime may replace a DynamicQuantizeLinear.
const node *product_behind(const graph &g, const node &n, const std::vector<bool> &is_claimed) {
    return find_consumer(g, n, [&](const node &c) {
        return layers::match::is_product(c) && !is_claimed[static_cast<std::size_t>(&c - g.nodes.data())];
    });
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

/// ONNX Runtime takes at most three times as long for these types and granularities.
bool is_fast_there(const graph &g, const node &n) {
    if (n.is("DynamicQuantizeLinear")) return false; // looks for the extremes on one thread
    const auto s = sides_of(g, n);
    return s.real == type::float32 && s.scale == type::float32
            && (bytes | shorts | onnx::type_set {type::int32}).contains(s.quantized)
            && n.get("block_size", std::int64_t {0}) == 0 && !is_channels_last(g, n);
}

/// What src/onnx says of an operator of an opset that it does not know, else "".
std::string unknown(const onnx::node &n) {
    try {
        onnx::output_types(n);
    } catch (const error &e) {
        if (e.status == status::unimplemented) return e.what();
    }
    return {}; // what else is wrong is reported when the session is made
}

} // namespace

bool is_used(const value &v) {
    return v.is_seen_outside || !v.consumers.empty();
}

bool is_quantization(const node &n) {
    return n.is("QuantizeLinear") || n.is("DequantizeLinear") || n.is("DynamicQuantizeLinear");
}

std::string reason_to_leave(const graph &g, const node &n, const std::vector<bool> &is_claimed, bool claims_all) {
    if (!is_used(g.output(n))) return "nothing takes its y";
    const bool is_dynamic = n.is("DynamicQuantizeLinear");
    if (const auto *partner = is_dynamic ? product_behind(g, n, is_claimed) : partner_of(g, n))
        return concat("ONNX Runtime may fuse it with ", describe(*partner));
    if (auto reason = unknown(onnx_node(g, n)); !reason.empty()) return reason;
    return !claims_all && is_fast_there(g, n) ? "ONNX Runtime has a fast kernel for it" : "";
}

// Measured beside ONNX Runtime 1.32 by `scripts/measure layers`, on a Zen 4, and on a Zen 3 for
// processors without VNNI: with steps each layer is as fast as there or faster; without, these take up to twice as
// long, as their sums go through memory twice.
std::string reason_to_leave_product(const graph &g, const node &n, bool claims_all) {
    if (claims_all) return {};
    const auto available = environment::usable_features();
    const bool has_vnni = targets::has(available, targets::avx512_vnni) || targets::has(available, targets::avx2_vnni);
    const auto &w = g.input(n, 1);
    const bool is_int8 = w.type == data_type::s8;
    const auto &shape = w.known->shape;
    const auto elements = volume(shape).value_or(0);
    /// Whether it is in ONNX Runtime, and whether only for want of VNNI.
    const auto [is_as_fast, is_without_vnni] = [&]() -> std::pair<bool, bool> {
        if (n.op_type == "MatMulInteger") {
            constexpr std::int64_t few = std::int64_t {1} << 20, very_few = 4096, few_without_vnni = 16384;
            if (is_int8) return {has_vnni && elements <= few, false}; // without VNNI it saturates there
            return {elements <= (has_vnni ? very_few : few_without_vnni), elements > very_few};
        }
        if (is_int8 || elements == 0) return {}; // which ONNX Runtime multiplies in plain code
        // It has none of a zero point for each filter, nor of dilations with SAME.
        const bool has_zero_point = n.inputs.size() > 3 && n.inputs[3] != layers::match::none;
        if ((has_zero_point && g.input(n, 3).shape != dims {}) || n.get("auto_pad", std::string("NOTSET")) != "NOTSET")
            return {};
        const auto filters = shape[0], channels = shape[1], taps = elements / (filters * channels);
        if (taps == 1 ? channels <= 128 : channels * taps <= 32 && filters >= 12) return {true, false};
        const auto of_group = filters / std::max<std::int64_t>(n.get("group", std::int64_t {1}), 1);
        const bool is_small = taps == 1 ? filters <= 8 : channels <= 4 && channels * taps <= 4 * of_group;
        return {!has_vnni && is_small, true};
    }();
    if (!is_as_fast) return {};
    return concat(
            "ONNX Runtime's is as fast ", is_without_vnni ? "without VNNI and " : "", "without operators behind it");
}

// ONNX Runtime 1.32 (DQMatMulToMatMulNBits in core/optimizer/qdq_transformer): of integers of 8 and 4 bits by a scalar
// scale in float, one for each column or for each of certain blocks, not transposed, with a bias that is a vector; not
// where other nodes take the weights or the scale as well; and not where a Relu or Clip follows that one node takes.
static bool becomes_matmul_nbits(const graph &g, const layers::match::layer_match &m) {
    const auto &product = g.nodes[m.product], &dequantize = g.nodes[m.dequantize];
    const auto &w = *g.input(dequantize, 0).known;
    const auto &scale = g.input(dequantize, 1).known->shape;
    if (!(bytes | onnx::type_set {type::uint4, type::int4}).contains(type::number_of(*w.type))) return false;
    if (g.input(dequantize, 0).consumers.size() > 1 || g.input(dequantize, 1).consumers.size() > 1) return false;
    if (g.input(dequantize, 1).type != data_type::f32 || layers::match::has_transposed_weights(product)) return false;
    if (product.has(2) && g.input(product, 2).shape != dims {w.shape[1]}) return false;
    const auto axis = dequantize.get("axis", std::int64_t {1}), block = dequantize.get("block_size", std::int64_t {0});
    const bool is_of_blocks = axis == 0 && block >= 16 && block <= 1024 && (block & (block - 1)) == 0;
    if (!(scale.empty() || (scale.size() == 1 && axis == 1 && scale == dims {w.shape[1]}) || is_of_blocks))
        return false;
    const auto &y = g.output(product);
    if (y.consumers.size() != 1 || y.is_seen_outside) return true;
    const auto &next = g.nodes[y.consumers.front()];
    return !is_limit(next) || g.output(next).consumers.size() != 1 || g.output(next).is_seen_outside;
}

// Measured on a Zen 3, one thread, beside ONNX Runtime 1.32's nodes, times as long: 64 rows and more by fewer than 32
// columns 1.6 to 2.9; 64, 128 and 1024 rows by 64 x 64 weights 0.97, 1.03 and 1.14, 128 and 1024 by 128 x 128 0.98 and
// 1.06, by 192 x 192 0.94 and 1.00: the steps' own pass takes longer than to widen so few weights to memory. 1x1
// convolutions, whose sums are transposed: from 256 channels and filters on 0.78 to 0.99, but for 784 positions 1.01;
// of fewer 1.02 to 1.5, but for 49 positions by 32 filters and more 0.3 to 0.97.
std::string reason_to_leave_narrow(const graph &g, const layers::match::layer_match &m, bool claims_all) {
    const auto &product = g.nodes[m.product];
    const auto &w = g.input(g.nodes[m.dequantize], 0).known->shape;
    const auto &x = g.input(product, 0).shape;
    if (const auto *before = producer_of(g, m.x); before && before->is("DequantizeLinear"))
        return concat("ONNX Runtime may fuse it with ", describe(*before));
    if (becomes_matmul_nbits(g, m)) return "ONNX Runtime makes MatMulNBits of it";
    if (claims_all) return {};
    if (!targets::has(environment::usable_features(), targets::avx2)) return "without AVX2 it would be slow";
    const auto columns = w[layers::match::has_transposed_weights(product) ? 0 : 1], elements = volume(w).value_or(0);
    bool is_slower = columns < 32 || elements < 64 * 64;
    const auto count = [](const dims &extents) {
        const bool is_open = std::ranges::any_of(extents, [](std::int64_t extent) { return extent < 0; });
        return is_open ? std::nullopt : volume(extents);
    };
    if (product.is("Conv")) {
        const auto positions = x && x->size() > 2 ? count(dims(x->begin() + 2, x->end())) : std::nullopt;
        const bool is_large = w[0] >= 256 && w[1] >= 256;
        is_slower = is_slower || !positions || *positions > (is_large ? 400 : 49);
    } else if (elements < 192 * 192) {
        const auto rows = x && !x->empty() ? count(dims(x->begin(), x->end() - 1)) : std::nullopt;
        is_slower = is_slower || (rows && *rows > 64);
    }
    return is_slower ? "ONNX Runtime's nodes are as fast for such extents" : "";
}

} // namespace dynquant::onnxruntime
