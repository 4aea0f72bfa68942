#include "layers/match/weight_only_weights.hpp"

#include <algorithm>

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

/// Why weights of a convolution have scales that a product of its windows does not take; "" where it does.
std::string why_no_windows(const node &product, const node &dequantize, const dims &shape, const dims &scale) {
    const bool has_one_tap = volume(dims(shape.begin() + 2, shape.end())) == 1;
    if ((has_one_tap && product.get("group", std::int64_t {1}) == 1) || volume(scale) == 1) return {};
    const auto axis = dequantize.get("axis", std::int64_t {1});
    const bool is_by_filter =
            (axis < 0 ? axis + std::ssize(shape) : axis) == 0 && dequantize.get("block_size", std::int64_t {0}) == 0;
    return is_by_filter ? "" : "expected one scale, or one for each filter, of a Conv of several taps or groups";
}

} // namespace

bool is_pointwise(const node &convolution, const dims &shape) {
    using integers = std::vector<std::int64_t>;
    const auto are = [&](const char *name, std::int64_t value) {
        return std::ranges::all_of(convolution.get(name, integers {}), [=](auto v) { return v == value; });
    };
    return shape.size() >= 3 && volume(dims(shape.begin() + 2, shape.end())) == 1 && are("strides", 1) && are("pads", 0)
            && convolution.get("group", std::int64_t {1}) == 1;
}

namespace {

/// Why a DequantizeLinear of a matrix whose inner dimension is `inner` has no parameters of the columns, of the
/// rows, of all or of blocks in columns; "" where it has.
std::string why_no_blocks(const graph &g, const node &n, std::int64_t inner) {
    const auto &shape = g.input(n, 0).known->shape, &scale = g.input(n, 1).known->shape;
    if (n.has(2) && g.input(n, 2).known->shape != scale)
        return concat("the zero points of its weights have shape ", to_string(g.input(n, 2).known->shape),
                ", their scales ", to_string(scale));
    const auto block = n.get("block_size", std::int64_t {0});
    if (volume(scale) == 1 && scale.size() <= 1 && block == 0) return {};
    const auto axis = n.get("axis", std::int64_t {1}), of_axis = axis < 0 ? axis + std::ssize(shape) : axis;
    if (of_axis < 0 || of_axis > 1) return concat("its weights have scales along axis ", axis);
    auto expected = dims {shape[static_cast<std::size_t>(of_axis)]};
    if (block > 0) {
        if (of_axis != inner) return "its weights have blocks along their columns";
        expected = shape;
        auto &blocks = expected[static_cast<std::size_t>(inner)];
        blocks = ceil_div(blocks, block);
        auto &groups = expected[static_cast<std::size_t>(1 - inner)];
        groups = ceil_div(groups, n.get(column_group, std::int64_t {1}));
    }
    return scale == expected
            ? ""
            : concat("the scales of its weights: expected shape ", to_string(expected), ", given ", to_string(scale));
}

} // namespace

std::size_t dequantize_of(const graph &g, const node &product) {
    auto producer = g.input(product, 1).producer;
    if (producer != none && g.nodes[producer].is(op::cast)) producer = g.input(g.nodes[producer], 0).producer;
    const bool found = producer != none && g.nodes[producer].is(op::dequantize_linear)
            && g.input(g.nodes[producer], 0).is_constant();
    return found ? producer : none;
}

bool is_weight_only_product(const graph &g, const node &n) {
    return n.is(op::mat_mul, op::gemm, op::conv) && n.has(0) && n.has(1) && dequantize_of(g, n) != none;
}

bool has_transposed_weights(const node &weight_only_product) {
    return weight_only_product.is(op::conv) || weight_only_product.get("transB", std::int64_t {0}) != 0;
}

std::string why_not_weight_only(const graph &g, const node &product, const std::vector<bool> &is_taken) {
    const auto &weights = g.input(product, 1);
    const auto at = dequantize_of(g, product);
    for (const auto maker : {at, weights.producer})
        if (const auto &v = g.output(g.nodes[maker]); is_taken[maker] || v.consumers.size() != 1 || v.is_seen_outside)
            return concat("other nodes take its weights '", v.name, "'");
    const auto &dequantize = g.nodes[at];
    const bool is_convolution = product.is(op::conv);
    const auto &w = g.input(dequantize, 0), &scale = g.input(dequantize, 1);
    for (const auto input : dequantize.inputs)
        if (input != none && !g.values[input].known)
            return concat("'", g.values[input].name, "', of its weights, is ", why_unknown(g.values[input]));
    const auto type = w.known->type;
    if (std::ranges::count(types, type) == 0) return concat("its weights are of type ", name_of(type));
    const auto &x = g.input(product, 0);
    if (x.type != data_type::f32) return "its input is no float";
    if (x.is_constant()) return "its input is constant";
    const auto scale_type = scale.known->type, dequantized = g.output(dequantize).type;
    if (weights.type != data_type::f32 || !(dequantized == data_type::f32 || dequantized == scale_type)
            || !(scale_type == data_type::f32 || scale_type == data_type::f16))
        return concat("its weights become ", name_of(dequantized), " by scales of type ", name_of(scale_type));
    if (!traits(*type).integral && dequantize.has(2) && !are_zeros(*g.input(dequantize, 2).known))
        return "its weights are float8 with a zero point that is not 0";
    const auto &shape = w.known->shape;
    if (is_convolution ? shape.size() < 3 : shape.size() != 2)
        return concat("its weights have shape ", to_string(shape));
    if (auto why = why_no_blocks(g, dequantize, has_transposed_weights(product) ? 1 : 0); !why.empty()) return why;
    if (is_convolution)
        if (auto why = why_no_windows(product, dequantize, shape, scale.known->shape); !why.empty()) return why;
    if (product.is(op::gemm) && product.get("transA", std::int64_t {0}) != 0) return "attribute 'transA': expected 0";
    return {};
}

} // namespace dynquant::layers::match
