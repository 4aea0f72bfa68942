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

} // namespace

weight_only_description describe_weight_only(const graph &g, const layer_match &m) {
    const auto &from = m.weights;
    const auto &product = g.nodes[m.product], &dequantize = g.nodes[from.dequantize];
    const auto &w = *g.input(dequantize, 0).known;
    weight_only_description d;
    d.label = label(g, product);
    d.post_ops = m.post_ops;
    d.normalization = m.normalization;
    auto &to = d.weights;
    to.type = *w.type;
    d.is_convolution = product.is(op::conv);
    d.x_rank = product.is(op::mat_mul) ? 0 : from.shape.size();
    to.is_transposed = from.is_transposed;
    to.inner = from.inner;
    to.columns = from.columns;
    if (d.is_convolution && !is_pointwise(product, from.shape)) {
        d.kernel.assign(from.shape.begin() + 2, from.shape.end());
        d.groups = product.get("group", std::int64_t {1});
        d.window = window_of(product);
    }
    to.data = w.data;
    to.scales = values_of<float>(*g.input(dequantize, 1).known);
    to.are_float16 = g.output(dequantize).type == data_type::f16;
    // The zero points of floats are zeros.
    if (dequantize.has(2) && traits(to.type).integral)
        to.zero_points = values_of<std::int32_t>(*g.input(dequantize, 2).known);
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
    return d;
}

} // namespace dynquant::layers::match
