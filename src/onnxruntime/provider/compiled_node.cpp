#include "onnxruntime/provider/compiled_node.hpp"

#include <algorithm>

#include "onnxruntime/provider/node_match.hpp"

namespace dynquant::onnxruntime {
namespace {

std::size_t index_of(const std::vector<std::string> &names, const std::string &name) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? node_ports::left_out : static_cast<std::size_t>(found - names.begin());
}

node_ports ports_of(const graph &g, const node &n, const std::vector<std::string> &inputs,
        const std::vector<std::string> &outputs) {
    node_ports ports;
    for (std::size_t i = 0; i < ports.inputs.size(); ++i) {
        if (!n.has(i)) continue;
        const auto &v = g.input(n, i);
        ports.inputs[i].index = index_of(inputs, v.name);
        if (v.known) ports.inputs[i].shape = v.known->shape;
    }
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
        if (n.outputs[i] != none) {
            const auto &v = g.values[n.outputs[i]];
            ports.outputs[i] = {index_of(outputs, v.name), type_of(v)};
        }
    return ports;
}

/// The shapes of the inputs that are not constant, or nothing where some are known at run time only.
std::optional<kernel::shapes> known_shapes(const graph &g, const node &n) {
    kernel::shapes shapes;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (!n.has(i) || g.input(n, i).known) continue;
        const auto &shape = g.input(n, i).shape;
        if (!shape || std::ranges::any_of(*shape, [](std::int64_t extent) { return extent < 0; })) return {};
        shapes[i] = *shape;
    }
    return shapes;
}

} // namespace

compiled_node::compiled_node(const OrtApi &api, const graph &g, const node &n, const std::vector<std::string> &inputs,
        const std::vector<std::string> &outputs, int threads)
    : kernel_(api, onnx_node(g, n), ports_of(g, n, inputs, outputs), threads) {
    if (const auto shapes = known_shapes(g, n))
        kernel_.prepare_for(*shapes);
    else
        onnx::output_types(onnx_node(g, n)); // checks what needs no shapes
}

} // namespace dynquant::onnxruntime
