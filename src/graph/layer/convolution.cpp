#include "graph/layer/convolution.hpp"

#include <algorithm>
#include <numeric>

#include "graph/attributes.hpp"
#include "quantization/text.hpp"

namespace dynquant::graph::core {
namespace {

/// oneDNN's defaults.
std::string text_of(const op_record &op, dnnl_graph_op_attr_t attr, const char *otherwise) {
    const auto *text = find_attribute<std::string>(op, attr);
    return text ? *text : otherwise;
}
std::string data_format_of(const op_record &op) {
    return text_of(op, dnnl_graph_op_attr_data_format, "NXC");
}
std::string weights_format_of(const op_record &op) {
    return text_of(op, dnnl_graph_op_attr_weights_format, "XIO");
}
std::string auto_pad_of(const op_record &op) {
    return text_of(op, dnnl_graph_op_attr_auto_pad, "None");
}

std::vector<std::int64_t> numbers_of(const op_record &op, dnnl_graph_op_attr_t attr) {
    const auto *list = find_attribute<std::vector<std::int64_t>>(op, attr);
    return list ? *list : std::vector<std::int64_t> {};
}

std::vector<size_t> as_they_are(int rank) {
    std::vector<size_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

} // namespace

bool is_convolution(const op_record &product) {
    return product.kind == dnnl_graph_op_convolution;
}

std::vector<size_t> order_of_data(const op_record &product, int rank) {
    auto order = as_they_are(rank);
    if (is_convolution(product) && data_format_of(product) == "NXC")
        std::rotate(order.begin() + 1, order.end() - 1, order.end());
    return order;
}

std::vector<size_t> order_of_weights(const op_record &product, int rank) {
    auto order = as_they_are(rank);
    if (!is_convolution(product) || weights_format_of(product) == "OIX") return order;
    std::rotate(order.begin(), order.end() - 2, order.end()); // channels, filters, taps
    std::swap(order[0], order[1]);
    return order;
}

dims permuted(const dims &values, const std::vector<size_t> &order) {
    dims result;
    for (const auto from : order)
        result.push_back(values[from]);
    return result;
}

dims permuted_back(const dims &values, const std::vector<size_t> &order) {
    dims result(values.size());
    for (size_t i = 0; i < order.size(); ++i)
        result[order[i]] = values[i];
    return result;
}

int column_dim(const op_record &product, int rank) {
    if (is_convolution(product)) return static_cast<int>(order_of_weights(product, rank).front());
    return rank - (transposes(product, dnnl_graph_op_attr_transpose_b) ? 2 : 1);
}

int channel_dim(const op_record &product, int rank) {
    return is_convolution(product) ? static_cast<int>(order_of_data(product, rank)[1]) : rank - 1;
}

std::int64_t groups_of(const op_record &convolution) {
    const auto groups = numbers_of(convolution, dnnl_graph_op_attr_groups);
    return groups.empty() ? 1 : groups.front();
}

layers::window_attributes window_of(const op_record &convolution) {
    layers::window_attributes w;
    if (const auto mode = auto_pad_of(convolution); mode != "None") w.auto_pad = mode;
    w.strides = numbers_of(convolution, dnnl_graph_op_attr_strides);
    w.dilations = numbers_of(convolution, dnnl_graph_op_attr_dilations);
    w.pads = numbers_of(convolution, dnnl_graph_op_attr_pads_begin);
    const auto end = numbers_of(convolution, dnnl_graph_op_attr_pads_end);
    w.pads.insert(w.pads.end(), end.begin(), end.end());
    return w;
}

std::string why_no_window(const op_record &convolution, int rank) {
    for (const auto attr : {dnnl_graph_op_attr_strides, dnnl_graph_op_attr_dilations, dnnl_graph_op_attr_pads_begin,
                 dnnl_graph_op_attr_pads_end}) {
        const auto values = numbers_of(convolution, attr);
        const bool is_pad = attr == dnnl_graph_op_attr_pads_begin || attr == dnnl_graph_op_attr_pads_end;
        if (std::ssize(values) != rank - 2)
            return concat(attribute_name(attr), ": expected ", rank - 2, " values, given ", values.size());
        const std::int64_t least = is_pad ? 0 : 1;
        for (const auto value : values)
            if (value < least || value > layers::max_extent)
                return concat(attribute_name(attr), ": expected values of ", least, " to ", layers::max_extent,
                        ", given ", value);
    }
    const auto mode = auto_pad_of(convolution);
    if (mode != "None" && mode != "SAME_UPPER" && mode != "SAME_LOWER" && mode != "VALID")
        return concat("auto_pad: expected None, SAME_UPPER, SAME_LOWER or VALID, given ", mode);
    if (const auto format = data_format_of(convolution); format != "NXC" && format != "NCX")
        return concat("data_format: expected NXC or NCX, given ", format);
    if (const auto format = weights_format_of(convolution); format != "XIO" && format != "OIX")
        return concat("weights_format: expected XIO or OIX, given ", format);
    return {};
}

layers::window window_over(const op_record &convolution, const dims &x, const dims &w) {
    return layers::make_window(window_of(convolution), {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()});
}

dims dims_of_result(const layers::window &over, const dims &x, const dims &w) {
    dims y {x[0], w[0]};
    y.insert(y.end(), over.y.begin(), over.y.end());
    return y;
}

} // namespace dynquant::graph::core
