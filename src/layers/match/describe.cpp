#include "layers/match/describe.hpp"

#include "onnx/element_type.hpp"

namespace dynquant::layers::match {

layer_description describe(const graph &g, const node &product) {
    const auto &w = *g.input(product, 1).known;
    layer_description d;
    d.label = label(g, product);
    d.is_convolution = product.op_type == "ConvInteger";
    d.x_is_signed = g.input(product, 0).type == onnx::type::int8;
    if (product.has(2)) {
        const auto &known = g.input(product, 2).known;
        d.x_zero_point.reset();
        if (known) d.x_zero_point = integers_of(*known).front();
    }
    d.w_is_signed = w.type == onnx::type::int8;
    d.weights_shape = w.shape;
    if (product.has(3)) d.w_zero_points = integers_of(*g.input(product, 3).known);
    if (!d.is_convolution) {
        if (w.shape.size() == 1) d.weights_shape.push_back(1);
        d.weights_shape.erase(d.weights_shape.begin(), d.weights_shape.end() - 2);
        return d;
    }
    using integers = std::vector<std::int64_t>;
    d.groups = product.get("group", std::int64_t {1});
    d.window.auto_pad = product.get("auto_pad", std::string("NOTSET"));
    d.window.dilations = product.get("dilations", integers {});
    d.window.kernel_shape = product.get("kernel_shape", integers {});
    d.window.pads = product.get("pads", integers {});
    d.window.strides = product.get("strides", integers {});
    return d;
}

layer_description describe(const graph &g, const layer_match &m) {
    auto d = describe(g, g.nodes[m.product]);
    d.has_x_scale = m.x_scale != none;
    d.scales_by_row = m.scales_by_row;
    d.bias = m.bias;
    d.steps = m.steps;
    d.result = m.result;
    d.table = m.table;
    return d;
}

} // namespace dynquant::layers::match
