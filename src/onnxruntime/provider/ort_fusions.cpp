// What ONNX Runtime fuses itself: the rules of its optimizer.
#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "elements/ceil_div.hpp"
#include "onnx/element_type.hpp"
#include "onnxruntime/provider/left_to_ort.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

namespace type = onnx::type;

// ONNX Runtime fuses an operator of these with DequantizeLinear before it and QuantizeLinear behind it. They are those
// of its CPU provider (core/optimizer/qdq_transformer/selectors_actions, qdq_selector_action_transformer.cc), the same
// in versions 1.23 to 1.32. The first run on the quantized values, and an operator of its own replaces each of the
// others. tests/onnxruntime_ep/test_nodes.py reads these lists: ONNX Runtime fuses each, and no other that is tried.
constexpr std::string_view moving[] = {"Expand", "Flatten", "Gather", "GatherElements", "MaxPool", "ReduceMax",
        "ReduceMin", "Reshape", "Resize", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"};
constexpr std::string_view computing[] = {"Add", "AveragePool", "Concat", "Conv", "Gemm", "GlobalAveragePool",
        "LeakyRelu", "MatMul", "Mul", "Sigmoid", "Softmax", "Where"};
// These need no QuantizeLinear. MatMul also becomes MatMulNBits, and Gemm since 1.25. No version that is
// tested fuses Gather so.
constexpr std::string_view taking[] = {"ArgMax", "Gather", "Gemm", "MatMul"};
constexpr std::string_view reshaping[] = {"Reshape", "Transpose"};

bool is_one_of(std::span<const std::string_view> names, const node &n) {
    return n.domain.empty() && std::ranges::find(names, n.op_type) != names.end();
}

constexpr onnx::type_set bytes = {type::uint8, type::int8};
constexpr onnx::type_set shorts = {type::uint16, type::int16};
constexpr onnx::type_set integers =
        bytes | shorts | onnx::type_set {type::int32, type::uint4, type::int4, type::uint2, type::int2};

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
    return n.is(op::relu, op::clip);
}

/// ONNX Runtime computes the operator on quantized values, and without a Relu or Clip behind it.
bool is_between(const graph &g, const node &n, onnx::element_type quantized) {
    const auto dequantizes = [&](std::size_t input) {
        const auto *before = producer_of(g, input);
        return before && before->is(op::dequantize_linear);
    };
    const auto is_quantize = [](const node &behind) { return behind.is(op::quantize_linear); };
    const auto quantizes = [&](const node &behind) {
        return is_quantize(behind) || (is_limit(behind) && find_consumer(g, behind, is_quantize));
    };
    return ((integers.contains(quantized) && (is_one_of(moving, n) || is_one_of(computing, n)))
                   || (bytes.contains(quantized) && is_limit(n)))
            && std::ranges::any_of(n.inputs, dequantizes) && find_consumer(g, n, quantizes);
}

/// Whether it is a product, or only changes the type or shape of the weights of one: ONNX Runtime makes MatMulNBits of
/// them. Graphs may be deep, and have many ways between two nodes.
bool leads_to_product(const graph &g, const node &n) {
    std::vector<const node *> open {&n};
    for (std::set<const node *> seen; !open.empty();) {
        const auto &next = *open.back();
        open.pop_back();
        if (is_one_of(taking, next)) return true;
        if (!seen.insert(&next).second || !(next.is(op::cast) || is_one_of(reshaping, next))) continue;
        for (const auto consumer : g.output(next).consumers)
            open.push_back(&g.nodes[consumer]);
    }
    return false;
}

/// The node with which ONNX Runtime may fuse or remove a QuantizeLinear, by what is before it, or null.
const node *partner_before(const graph &g, const node &quantize) {
    const auto quantized = sides_of(g, quantize).quantized;
    const auto *before = producer_of(g, quantize.inputs[0]);
    const bool found = before
            && (before->is(op::dequantize_linear) || (bytes.contains(quantized) && is_limit(*before))
                    || is_between(g, *before, quantized));
    return found ? before : nullptr;
}

/// That of a DequantizeLinear, by what is behind it.
const node *partner_behind(const graph &g, const node &dequantize) {
    const auto quantized = sides_of(g, dequantize).quantized;
    const bool is_integer = integers.contains(quantized),
               is_weights = is_integer && g.input(dequantize, 0).is_constant();
    return find_consumer(g, dequantize, [&](const node &c) {
        return c.is(op::quantize_linear) || is_between(g, c, quantized) || (is_integer && is_one_of(taking, c))
                || (is_weights && leads_to_product(g, c));
    });
}

/// The node with which ONNX Runtime may fuse or remove one that quantizes, or null.
const node *partner_of(const graph &g, const node &n, const std::vector<bool> &is_claimed) {
    if (n.is(op::dynamic_quantize_linear)) // which ONNX Runtime may replace together with a product
        return find_consumer(g, n, [&](const node &c) {
            return layers::match::is_product(c) && !is_claimed[static_cast<std::size_t>(&c - g.nodes.data())];
        });
    const auto s = sides_of(g, n);
    if (s.scale != s.real || (s.scale != type::float32 && s.scale != type::float16))
        return nullptr; // it cannot even compute this one
    const bool quantizes = n.is(op::quantize_linear);
    if (const auto *found = quantizes ? partner_before(g, n) : partner_behind(g, n)) return found;
    // It makes uint8 of a pair of int8, without which operators behind or before the pair do not fuse.
    if (s.quantized != type::int8) return nullptr;
    if (quantizes)
        return find_consumer(g, n, [&](const node &c) { return c.is(op::dequantize_linear) && partner_behind(g, c); });
    const auto *before = producer_of(g, n.inputs[0]);
    return before && before->is(op::quantize_linear) && partner_before(g, *before) ? before : nullptr;
}

/// What versions make MatMulNBits of, by DQMatMulToMatMulNBits (core/optimizer/qdq_transformer), as 1.23.2 to 1.32.0
/// do: tests/wheel/test_matmulnbits.py tries each row. Of larger blocks those before 1.27 make nodes that leave y
/// unwritten, and 1.27 to 1.29 fail.
struct nbits_rule {
    int since;
    bool is_general;            // else of 4 bits in blocks, in MatMul alone: not of 8, by a scalar or columns, in Gemm
    bool leaves_shared;         // weights or scales that other nodes take, too
    float tolerance;            // of Gemm's alpha and beta, which are 1
    std::int64_t largest_block; // a power of two; the smallest is 16
};
constexpr nbits_rule nbits_rules[] = {{13200, true, true, 0, std::int64_t {1} << 62}, {12700, true, true, 1e-6F, 256},
        {12500, true, false, 1e-6F, 256}, {0, false, false, 0, 256}};

const nbits_rule &rule_of(int ort_version) {
    return *std::ranges::find_if(nbits_rules, [=](const nbits_rule &r) { return ort_version >= r.since; });
}

/// ONNX Runtime makes it of a matrix that no node moves or transposes, by scales in float, with a bias that is a
/// vector; since 1.27 not where other nodes, or subgraphs, take the weights or the scale as well; and not where a Relu
/// or Clip follows that one node takes; outputs of the graph do not count. Its optimizer does so from the level
/// ORT_ENABLE_EXTENDED on, which up to 1.32 no function tells.
bool becomes_matmul_nbits(const graph &g, const layers::match::layer_match &m, int ort_version) {
    const auto &rule = rule_of(ort_version);
    const auto consumers = [](const value &v) { return v.consumers.size() + v.subgraph_consumers; };
    const auto is_shared = [&](std::size_t v) { return consumers(g.values[v]) > 1; };
    const auto &product = g.nodes[m.product], &dequantize = g.nodes[m.weights.dequantize];
    const auto &w = m.weights;
    const auto &scale = g.values[w.scale].known->shape;
    const auto is_one = [&](const char *factor) { return std::abs(product.get(factor, 1.0F) - 1) <= rule.tolerance; };
    if (product.is(op::gemm) && !(rule.is_general && is_one("alpha") && (!product.has(2) || is_one("beta"))))
        return false;
    constexpr onnx::type_set four_bits = {type::uint4, type::int4};
    const auto quantized = type_of(g.values[w.quantized]);
    if (!(rule.is_general ? bytes | four_bits : four_bits).contains(quantized)) return false;
    if ((rule.leaves_shared && (is_shared(w.quantized) || is_shared(w.scale)))
            || g.values[w.scale].type != data_type::f32)
        return false;
    if (product.has(2) && g.input(product, 2).shape != dims {w.columns}) return false;
    // Its optimizer has transposed constants of 8 bits before a provider sees them, where it can.
    if (w.is_transposed || w.are_moved(g)) return false;
    const auto axis = dequantize.get("axis", std::int64_t {1}), block = dequantize.get("block_size", std::int64_t {0});
    const bool is_of_blocks = axis == 0 && block >= 16 && block <= rule.largest_block && (block & (block - 1)) == 0;
    const bool is_of_columns = scale.empty() || (scale.size() == 1 && axis == 1 && scale == dims {w.columns});
    if (!is_of_blocks && !(rule.is_general && is_of_columns)) return false;
    const auto &y = g.output(product);
    if (consumers(y) != 1 || y.consumers.empty()) return true;
    const auto &next = g.nodes[y.consumers.front()];
    return !is_limit(next) || consumers(g.output(next)) != 1;
}

/// The rows of weights for which ONNX Runtime repeats scales that are none of blocks: by default 32, or as many of 16
/// to 256 as leave the fewest rows of the last block empty, of several the most.
std::int64_t repeated_block(std::int64_t entry, std::int64_t inner) {
    if (entry != -1) return entry == 0 ? 32 : entry;
    std::int64_t best = 16;
    for (std::int64_t block = 32; block <= std::min<std::int64_t>(inner, 256); block *= 2)
        if (round_up(inner, block) <= round_up(inner, best)) best = block;
    return best;
}

std::string with_partner(const node &n) {
    return concat("ONNX Runtime may fuse it with ", describe(n));
}

} // namespace

sides sides_of(const graph &g, const node &n) {
    const auto x = type_of(g.input(n, 0)), y = type_of(g.output(n)), scale = type_of(g.input(n, 1));
    return n.is(op::quantize_linear) ? sides {x, y, scale} : sides {y, x, scale};
}

bool has_outer_weights(const graph &g, const layers::match::layer_match &m) {
    const auto &w = m.weights;
    const auto is_outer = [&](std::size_t v) { return v != none && g.values[v].is_of_outer_graph; };
    return w.dequantize != none && (is_outer(w.quantized) || is_outer(w.scale) || is_outer(w.zero_point));
}

std::string fused_by_ort(const graph &g, const node &n, const std::vector<bool> &is_claimed) {
    const auto *partner = partner_of(g, n, is_claimed);
    return partner ? with_partner(*partner) : "";
}

std::string fused_by_ort(const graph &g, const layers::match::layer_match &m) {
    const auto *before = m.weights.dequantize == none ? nullptr : producer_of(g, m.x);
    return before && before->is(op::dequantize_linear) ? with_partner(*before) : "";
}

matmul_nbits_in_ort matmul_nbits_in_ort_of(const graph &g, const layers::match::layer_match &m, const options &o) {
    const auto &w = m.weights;
    const auto quantized = g.values[w.quantized].type;
    // Of 8 bits, and of 2 since 1.29, it has kernels for x that is quantized alone.
    if (w.dequantize != none) {
        const bool has_kernel = o.matmul_nbits.quantize_x || quantized == data_type::u4 || quantized == data_type::s4;
        if (!o.matmul_nbits.are_made || !has_kernel || has_outer_weights(g, m)
                || !becomes_matmul_nbits(g, m, o.ort_version))
            return {};
        return {w.block != 0 ? w.block : repeated_block(o.matmul_nbits.block, w.inner), o.matmul_nbits.quantize_x};
    }
    const auto &n = g.nodes[m.product];
    const auto bits = n.get("bits", std::int64_t {4});
    const bool quantizes_x = n.get("accuracy_level", std::int64_t {0}) == 4;
    const bool is_of_two = bits == 2 && o.ort_version >= 12900 && w.block >= 32 && w.block <= 128;
    if (!(bits == 4 || ((bits == 8 || is_of_two) && quantizes_x)) || w.block > rule_of(o.ort_version).largest_block
            || (w.zero_point != none && g.values[w.zero_point].type != data_type::u8))
        return {};
    return {w.block, quantizes_x};
}

} // namespace dynquant::onnxruntime
