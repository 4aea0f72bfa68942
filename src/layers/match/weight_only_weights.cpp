#include "layers/match/weight_only_weights.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>

#include "elements/ceil_div.hpp"
#include "elements/table.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {
namespace {

constexpr std::optional<data_type> types[] = {
        data_type::f8_e4m3, data_type::f8_e5m2, data_type::u8, data_type::s8, data_type::u4, data_type::s4};

/// Whether all elements, of 8 bits, are 0 or -0.
bool are_zeros(const constant &c) {
    return std::all_of(
            c.data, c.data + *volume(c.shape), [](std::byte b) { return (b & std::byte {0x7f}) == std::byte {}; });
}

/// Why weights of a convolution, of some shape, are scaled or lie in memory as a product of its windows does not take
/// them; "" where they are as that wants them.
std::string why_no_windows(const node &product, const node &dequantize, const dims &shape, const dims &stored,
        const dims &scale, bool is_transposed) {
    const bool has_groups = product.get("group", std::int64_t {1}) != 1;
    if (has_groups && is_transposed) return "its weights are transposed, and it has groups";
    const bool has_one_tap = volume(dims(shape.begin() + 2, shape.end())) == 1;
    if ((has_one_tap && !has_groups) || volume(scale) == 1) return {};
    const auto axis = dequantize.get("axis", std::int64_t {1});
    const auto of_filters = is_transposed ? std::ssize(stored) - 1 : 0;
    const bool is_by_filter = (axis < 0 ? axis + std::ssize(stored) : axis) == of_filters
            && dequantize.get("block_size", std::int64_t {0}) == 0;
    return is_by_filter ? "" : "expected one scale, or one for each filter, of a Conv of several taps or groups";
}

using extents = std::span<const std::int64_t>;

std::int64_t volume_of(extents e) {
    return volume(dims(e.begin(), e.end())).value_or(-1);
}

/// Follows a constant's shape through Transpose and Reshape.
class follower {
  public:
    explicit follower(dims stored)
        : shape(std::move(stored)) {}

    /// Returns why the node makes no matrix of the constant; "" where it may.
    std::string pass(const graph &g, const node &n) {
        if (n.is(op::transpose)) return transpose(g, n);
        const auto &to = g.output(n).shape;
        if (!n.is(op::reshape)) return {};
        if (!n.has(1) || !g.input(n, 1).is_constant() || !is_known(to) || volume(*to) != volume(shape)
                || volume(*to) == 0)
            return concat(label(g, n), ", of its weights: expected a shape that is known");
        shape = *to;
        return {};
    }

    dims shape;
    bool is_transposed = false; // the elements, in the order of memory, are those of the constant's matrix transposed
    std::int64_t rows = 0;      // of what then lies in memory

  private:
    /// Dimensions of 1 move nothing. The others are those of a matrix if the last of them become the first.
    std::string transpose(const graph &g, const node &n) {
        std::vector<std::int64_t> perm(shape.size());
        std::iota(perm.rbegin(), perm.rend(), 0);
        perm = n.get("perm", perm);
        dims to, moved;
        for (const auto p : perm) {
            const auto extent = shape.at(static_cast<std::size_t>(p));
            to.push_back(extent);
            if (extent != 1) moved.push_back(p);
        }
        const auto split = std::ranges::is_sorted_until(moved);
        const bool is_matrix =
                std::is_sorted(split, moved.end()) && (split == moved.end() || moved.back() < moved.front());
        const auto extent_of = [&](std::int64_t p) { return shape[static_cast<std::size_t>(p)]; };
        dims first, last;
        std::transform(moved.begin(), split, std::back_inserter(first), extent_of);
        std::transform(split, moved.end(), std::back_inserter(last), extent_of);
        if (!is_matrix || (is_transposed && split != moved.end() && volume_of(last) != rows))
            return concat(label(g, n), ", of its weights, transposes more than a matrix");
        shape = to;
        if (split == moved.end()) return {};
        is_transposed = !is_transposed;
        rows = volume_of(first);
        return {};
    }
};

/// Returns why the scales of a matrix, whose inner dimension, columns and order in memory are known, are not of all, of
/// columns, of rows or of blocks of these; "" where they are.
std::string read_scales(const graph &g, const node &n, weights_view &to) {
    const auto &shape = g.input(n, 0).known->shape, &scale = g.input(n, 1).known->shape;
    if (n.has(2) && g.input(n, 2).known->shape != scale)
        return concat("the zero points of its weights have shape ", to_string(g.input(n, 2).known->shape),
                ", their scales ", to_string(scale));
    const auto block = n.get("block_size", std::int64_t {0});
    if (volume(scale) == 1 && scale.size() <= 1 && block == 0) return {};
    const auto axis = n.get("axis", std::int64_t {1}), of_axis = axis < 0 ? axis + std::ssize(shape) : axis;
    const auto elsewhere = concat("its weights have scales along axis ", axis, " of ", to_string(shape),
            ", neither their rows nor their columns");
    if (of_axis < 0 || of_axis >= std::ssize(shape)) return elsewhere;
    const auto at = static_cast<std::size_t>(of_axis);
    const auto extent = shape[at], before = volume_of(extents(shape).first(at)),
               behind = volume_of(extents(shape).subspan(at + 1)), width = to.is_transposed ? to.inner : to.columns;
    const bool has_whole_blocks = block > 0 && extent % block == 0; // which then may end where a dimension does
    const bool is_along_width = behind == 1 && (extent == width || (has_whole_blocks && width % block == 0)),
               is_along_height = behind == width && (before == 1 || has_whole_blocks);
    const bool is_along_inner = to.is_transposed ? is_along_width : is_along_height,
               is_along_columns = to.is_transposed ? is_along_height : is_along_width;
    if (!is_along_inner && !is_along_columns) return elsewhere;
    dims expected {extent};
    if (block > 0) {
        if (!is_along_inner) return "its weights have blocks along their columns";
        to.block = block;
        to.column_group = n.get(column_group, std::int64_t {1});
        expected = shape;
        expected[at] = ceil_div(extent, block);
        if (shape.size() == 2) expected[1 - at] = ceil_div(shape[1 - at], to.column_group);
        to.scales = scales_of::blocks;
    } else {
        to.scales = is_along_columns ? scales_of::columns : scales_of::rows;
    }
    return scale == expected
            ? ""
            : concat("the scales of its weights: expected shape ", to_string(expected), ", given ", to_string(scale));
}

/// Why the values that make weights are not known; "" where they are.
std::string why_unknown_weights(const graph &g, const weights_view &w) {
    for (const auto input : {w.quantized, w.scale, w.zero_point})
        if (input != none && !g.values[input].known)
            return concat("'", g.values[input].name, "', of its weights, is ", why_unknown(g.values[input]));
    return {};
}

/// Why nodes make no matrix with known scales of a constant; "" where they do.
std::string read_matrix(const graph &g, const node &product, weights_view &to) {
    const auto &dequantize = g.nodes[to.dequantize];
    if (auto why = why_unknown_weights(g, to); !why.empty()) return why;
    follower f(g.input(dequantize, 0).known->shape);
    for (auto i = to.nodes.size(); i-- > 0;)
        if (auto why = f.pass(g, g.nodes[to.nodes[i]]); !why.empty()) return why;
    to.shape = f.shape;
    const bool is_convolution = product.is(op::conv);
    if (is_convolution ? f.shape.size() < 3 : f.shape.size() != 2)
        return concat("its weights have shape ", to_string(f.shape));
    if (f.is_transposed && f.rows != f.shape[0])
        return concat("its weights, transposed to ", f.rows, " rows, become ", to_string(f.shape));
    // Those of Conv, and of Gemm with transB, have a row for each column of y.
    const bool has_columns_first = is_convolution || product.get("transB", std::int64_t {0}) != 0;
    const auto behind_first = volume(dims(f.shape.begin() + 1, f.shape.end())).value_or(0);
    to.inner = has_columns_first ? behind_first : f.shape[0];
    to.columns = has_columns_first ? f.shape[0] : behind_first;
    to.is_transposed = has_columns_first != f.is_transposed;
    if (is_convolution)
        if (auto why = why_no_windows(product, dequantize, f.shape, g.input(dequantize, 0).known->shape,
                    g.input(dequantize, 1).known->shape, f.is_transposed);
                !why.empty())
            return why;
    return read_scales(g, dequantize, to);
}

/// Why a constant has another shape, and is no vector of as many elements where it may be; "" where it has it.
std::string why_not_shaped(const value &v, const char *input, const dims &shape, bool may_be_flat) {
    const auto &given = v.known->shape;
    if (given == shape || (may_be_flat && given.size() == 1 && given.front() == volume(shape))) return {};
    return concat("input '", input, "': expected shape ", to_string(shape), ", given ", to_string(given));
}

/// Whether zero points that floats hold are values of so many bits.
bool are_codes(const constant &c, std::int64_t bits) {
    for (std::int64_t i = 0; i < volume(c.shape); ++i)
        if (const auto v = load(*c.type, c.data, i); !(v >= 0 && v < 1 << bits && v == std::floor(v))) return false;
    return true;
}

/// Why MatMulNBits has no weights that ONNX Runtime takes, or none that weight_only_product.hpp does; "" where it has.
std::string read_packed(const graph &g, const node &n, weights_view &to) {
    const auto attribute_of = [&](const char *name) { return n.get(name, std::int64_t {0}); };
    const auto bits = n.get("bits", std::int64_t {4}), block = attribute_of("block_size");
    const auto refused = [](const char *name, const char *expected, std::int64_t given) {
        return concat("attribute '", name, "': expected ", expected, ", given ", given);
    };
    if (bits != 2 && bits != 4 && bits != 8) return refused("bits", "2, 4 or 8", bits);
    if (block < 16 || block > (1 << 30) || (block & (block - 1)) != 0)
        return refused("block_size", "a power of two from 16 on", block);
    to.inner = attribute_of("K");
    to.columns = attribute_of("N");
    for (const auto *name : {"K", "N"})
        if (attribute_of(name) <= 0) return refused(name, "a positive number", attribute_of(name));
    if (n.has(4)) return "it has an input 'g_idx'";
    if (auto why = why_unknown_weights(g, to); !why.empty()) return why;
    const auto blocks = ceil_div(to.inner, block);
    const auto &w = g.values[to.quantized];
    if (w.type != data_type::u8) return concat("its weights are of type ", name_of(w.type));
    auto why = why_not_shaped(w, "B", {to.columns, blocks, block * bits / 8}, false); // this bounds the extents
    if (why.empty()) why = why_not_shaped(g.values[to.scale], "scales", {to.columns, blocks}, true);
    if (why.empty() && to.zero_point != none) {
        const auto &zp = g.values[to.zero_point];
        const bool are_packed = zp.known->type == data_type::u8;
        const auto width = are_packed ? ceil_div(blocks * bits, std::int64_t {8}) : blocks;
        why = why_not_shaped(zp, "zero_points", {to.columns, width}, true);
        if (why.empty() && !are_packed && !are_codes(*zp.known, bits))
            return concat("input 'zero_points': expected whole numbers of ", bits, " bits");
    }
    if (!why.empty()) return why;
    if (n.has(5) && g.input(n, 5).shape != dims {to.columns}) return "input 'bias': expected one for each column";
    to.shape = {to.inner, to.columns};
    to.is_transposed = true;
    to.scales = scales_of::blocks;
    to.block = block;
    return {};
}

/// The nodes that make weights, from the last to a DequantizeLinear; or none.
std::vector<std::size_t> makers_of(const graph &g, const node &product) {
    std::vector<std::size_t> nodes;
    for (auto value = product.inputs[1]; value != none && g.values[value].producer != none;
            value = g.nodes[nodes.back()].inputs.front()) {
        nodes.push_back(g.values[value].producer);
        const auto &maker = g.nodes[nodes.back()];
        if (maker.is(op::dequantize_linear) && g.input(maker, 0).is_constant()) return nodes;
        if (!maker.is(op::cast, op::reshape, op::transpose)) break;
    }
    return {};
}

} // namespace

bool is_pointwise(const node &convolution, const dims &shape) {
    using integers = std::vector<std::int64_t>;
    const auto are = [&](const char *name, std::int64_t value) {
        return std::ranges::all_of(convolution.get(name, integers {}), [=](auto v) { return v == value; });
    };
    // Attributes that ONNX does not have are refused with the window, which others have.
    const auto auto_pad = convolution.get("auto_pad", std::string("NOTSET"));
    return shape.size() >= 3 && volume(dims(shape.begin() + 2, shape.end())) == 1 && are("strides", 1) && are("pads", 0)
            && are("kernel_shape", 1)
            && (auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER")
            && convolution.get("group", std::int64_t {1}) == 1;
}

bool weights_view::are_moved(const graph &g) const {
    return std::ranges::any_of(nodes, [&](auto n) { return g.nodes[n].is(op::reshape, op::transpose); });
}

weights_view weights_of(const graph &g, const node &product) {
    weights_view result;
    const auto take = [&](const node &from, std::size_t first) {
        result.quantized = from.inputs[first];
        result.scale = from.inputs[first + 1];
        if (from.has(first + 2)) result.zero_point = from.inputs[first + 2];
    };
    if (product.is(op::mat_mul_nbits)) {
        take(product, 1);
        result.reason = read_packed(g, product, result);
    } else if (result.nodes = makers_of(g, product); !result.nodes.empty()) {
        result.dequantize = result.nodes.back();
        take(g.nodes[result.dequantize], 0);
        result.reason = read_matrix(g, product, result);
    }
    return result;
}

bool is_weight_only_product(const graph &g, const node &n) {
    if (n.is(op::mat_mul_nbits)) return n.has(0) && n.has(1) && n.has(2);
    return n.is(op::mat_mul, op::gemm, op::conv) && n.has(0) && n.has(1) && !makers_of(g, n).empty();
}

bool may_quantize_x(const graph &g, const node &product, const weights_view &weights) {
    return weights.scales == scales_of::blocks && weights.column_group == 1 && is_block_of_x(weights.block)
            && !product.is(op::conv) && traits(*g.values[weights.quantized].type).integral
            && (weights.dequantize == none || g.output(g.nodes[weights.dequantize]).type == data_type::f32);
}

std::string why_not_weight_only(
        const graph &g, const node &product, const weights_view &weights, const std::vector<bool> &is_taken) {
    const auto &x = g.input(product, 0);
    if (product.is(op::mat_mul_nbits)) {
        if (x.type != data_type::f32 && x.type != data_type::f16) return "its input is neither float nor float16";
        return x.is_constant() ? "its input is constant" : weights.reason;
    }
    for (const auto maker : weights.nodes)
        if (const auto &v = g.output(g.nodes[maker]); is_taken[maker] || v.consumers.size() != 1 || v.is_seen_outside)
            return concat("other nodes take its weights '", v.name, "'");
    const auto &dequantize = g.nodes[weights.dequantize];
    const auto &w = g.input(dequantize, 0), &scale = g.input(dequantize, 1);
    if (!w.known || !scale.known) return weights.reason;
    const auto type = w.known->type;
    if (std::ranges::count(types, type) == 0) return concat("its weights are of type ", name_of(type));
    if (x.type != data_type::f32) return "its input is no float";
    if (x.is_constant()) return "its input is constant";
    const auto scale_type = scale.known->type, dequantized = g.output(dequantize).type;
    const auto is_exact = [&](std::size_t maker) { // the types that weights have on their way
        const auto of = g.output(g.nodes[maker]).type;
        return of == data_type::f32 || of == dequantized;
    };
    if (g.input(product, 1).type != data_type::f32 || !(dequantized == data_type::f32 || dequantized == scale_type)
            || !(scale_type == data_type::f32 || scale_type == data_type::f16)
            || !std::ranges::all_of(weights.nodes, is_exact))
        return concat("its weights become ", name_of(dequantized), " by scales of type ", name_of(scale_type));
    if (!weights.reason.empty()) return weights.reason;
    if (!traits(*type).integral && dequantize.has(2) && !are_zeros(*g.input(dequantize, 2).known))
        return "its weights are float8 with a zero point that is not 0";
    if (product.is(op::gemm) && product.get("transA", std::int64_t {0}) != 0) return "attribute 'transA': expected 0";
    return {};
}

} // namespace dynquant::layers::match
