#include "layers/match/describe.hpp"

#include <algorithm>

#include "elements/ceil_div.hpp"
#include "elements/table.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers::match {

namespace {

window_attributes window_of(const node &convolution) {
    using integers = std::vector<std::int64_t>;
    window_attributes w;
    w.auto_pad = convolution.get("auto_pad", std::string("NOTSET"));
    w.dilations = convolution.get("dilations", integers {});
    w.kernel_shape = convolution.get("kernel_shape", integers {});
    w.pads = convolution.get("pads", integers {});
    w.strides = convolution.get("strides", integers {});
    return w;
}

} // namespace

layer_description describe(const graph &g, const node &product) {
    const auto &w = *g.input(product, 1).known;
    layer_description d;
    d.label = label(g, product);
    d.is_convolution = product.is(op::conv_integer);
    d.x_is_signed = g.input(product, 0).type == data_type::s8;
    if (product.has(2)) {
        const auto &known = g.input(product, 2).known;
        d.x_zero_point.reset();
        if (known) d.x_zero_point = values_of<std::int32_t>(*known).front();
    }
    d.w_is_signed = w.type == data_type::s8;
    d.weights_shape = w.shape;
    if (product.has(3)) d.w_zero_points = values_of<std::int32_t>(*g.input(product, 3).known);
    if (!d.is_convolution) {
        if (w.shape.size() == 1) d.weights_shape.push_back(1);
        d.weights_shape.erase(d.weights_shape.begin(), d.weights_shape.end() - 2);
        return d;
    }
    d.groups = product.get("group", std::int64_t {1});
    d.window = window_of(product);
    return d;
}

layer_description of_matrix(layer_description d, std::int64_t matrix) {
    auto &all = d.w_zero_points;
    if (const auto columns = d.weights_shape.back(); !d.is_convolution && std::ssize(all) > columns)
        all = {all.begin() + matrix * columns, all.begin() + (matrix + 1) * columns};
    return d;
}

layer_description describe(const graph &g, const layer_match &m) {
    auto d = describe(g, g.nodes[m.product]);
    d.scales_by_row = m.scales_by_row;
    d.x_has_heads = m.x_has_heads;
    d.y_heads = m.y_heads;
    d.y_heads_are_transposed = m.y_heads_are_transposed;
    d.bias = m.bias;
    d.post_ops = m.post_ops;
    d.result = m.result;
    d.table = m.table;
    d.normalization = m.normalization;
    return d;
}

namespace {

/// Transposes [columns, blocks] to [blocks, columns].
template <typename T>
std::vector<T> transposed(const std::vector<T> &values, std::int64_t columns) {
    if (columns == 0) return values;
    std::vector<T> result;
    const auto count = std::ssize(values) / columns;
    for (std::int64_t b = 0; b < count; ++b)
        for (std::int64_t c = 0; c < columns; ++c)
            result.push_back(values[static_cast<std::size_t>(c * count + b)]);
    return result;
}

/// The code with an index in a row of codes of 2, 4 or 8 bits, of which a byte has the first in its lowest bits.
std::int32_t code_at(const std::byte *row, std::int64_t i, std::int64_t bits) {
    const auto in_byte = 8 / bits;
    return std::to_integer<std::int32_t>(row[i / in_byte]) >> i % in_byte * bits & ((1 << bits) - 1);
}

/// Reads the codes and zero points of MatMulNBits. The codes of a column fill whole blocks there, and its zero points
/// whole bytes; here weights have no gaps, and 4 or 8 bits. Where that is what there is, they stay where they are.
void read_packed(const graph &g, const node &product, const weights_view &from, weight_only_description &d) {
    auto &to = d.weights;
    const auto bits = product.get("bits", std::int64_t {4}), blocks = ceil_div(to.inner, from.block);
    const auto row_bytes = blocks * from.block * bits / 8;
    to.type = bits == 8 ? data_type::u8 : data_type::u4;
    if (bits == 2 || to.inner % from.block != 0) {
        const auto in_byte = to.type == data_type::u8 ? 1 : 2;
        d.copy.resize(static_cast<std::size_t>(ceil_div(to.inner * to.columns, std::int64_t {in_byte})));
        std::int64_t at = 0;
        for (std::int64_t n = 0; n < to.columns; ++n)
            for (std::int64_t k = 0; k < to.inner; ++k, ++at)
                d.copy[static_cast<std::size_t>(at / in_byte)] |=
                        static_cast<std::byte>(code_at(to.data + n * row_bytes, k, bits) << at % in_byte * 4);
        to.data = d.copy.data();
    }
    const auto *const zero_point = from.zero_point == none ? nullptr : &*g.values[from.zero_point].known;
    const auto zero_point_bytes = ceil_div(blocks * bits, std::int64_t {8});
    to.zero_points.resize(to.scales.size());
    for (std::int64_t i = 0; i < std::ssize(to.scales); ++i)
        to.zero_points[static_cast<std::size_t>(i)] = !zero_point ? 1 << (bits - 1)
                : zero_point->type == data_type::u8
                ? code_at(zero_point->data + i / blocks * zero_point_bytes, i % blocks, bits)
                : static_cast<std::int32_t>(load(*zero_point->type, zero_point->data, i));
}

/// Each block of rows of each column has a scale, of its own or a copy.
void quantize_x(const weights_view &from, weight_only_weights &to) {
    if (from.scales != scales_of::blocks) {
        const auto count = static_cast<std::size_t>(ceil_div(to.inner, from.x_block) * to.columns),
                   given = to.scales.size();
        to.scales.resize(count);
        if (!to.zero_points.empty()) to.zero_points.resize(count);
        for (auto i = given; i < count; ++i) {
            to.scales[i] = to.scales[i % given];
            if (!to.zero_points.empty()) to.zero_points[i] = to.zero_points[i % given];
        }
    }
    to.quantizes_x = true;
    to.block = from.x_block;
    to.scale_columns = to.columns;
}

} // namespace

weight_only_description describe_weight_only(const graph &g, const layer_match &m) {
    const auto &from = m.weights;
    const auto &product = g.nodes[m.product];
    const auto &w = *g.values[from.quantized].known;
    weight_only_description d;
    d.label = label(g, product);
    d.post_ops = m.post_ops;
    d.normalization = m.normalization;
    auto &to = d.weights;
    to.type = *w.type;
    d.is_convolution = product.is(op::conv);
    d.x_rank = product.is(op::mat_mul, op::mat_mul_nbits) ? 0 : from.shape.size();
    to.is_transposed = from.is_transposed;
    to.inner = from.inner;
    to.columns = from.columns;
    if (d.is_convolution && !is_pointwise(product, from.shape)) {
        d.kernel.assign(from.shape.begin() + 2, from.shape.end());
        d.groups = product.get("group", std::int64_t {1});
        d.window = window_of(product);
    }
    to.data = w.data;
    to.scales = values_of<float>(*g.values[from.scale].known);
    if (from.dequantize == none) {
        read_packed(g, product, from, d);
    } else {
        to.are_float16 = g.output(g.nodes[from.dequantize]).type == data_type::f16;
        // The zero points of floats are zeros.
        if (from.zero_point != none && traits(to.type).integral)
            to.zero_points = values_of<std::int32_t>(*g.values[from.zero_point].known);
    }
    to.block = from.scales == scales_of::rows ? 1 : std::max<std::int64_t>(to.inner, 1);
    to.scale_columns = from.scales == scales_of::columns ? to.columns : 1;
    if (from.scales == scales_of::blocks) {
        to.block = from.block;
        to.column_group = from.column_group;
        to.scale_columns = ceil_div(to.columns, to.column_group);
        if (to.is_transposed) {
            to.scales = transposed(to.scales, to.scale_columns);
            to.zero_points = transposed(to.zero_points, to.scale_columns);
        }
    }
    if (from.x_block != 0) quantize_x(from, to);
    return d;
}

} // namespace dynquant::layers::match
