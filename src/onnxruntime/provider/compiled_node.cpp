#include <algorithm>

#include "onnx/element_type.hpp"
#include "onnxruntime/common/kernel.hpp"
#include "onnxruntime/provider/compiled.hpp"

namespace dynquant::onnxruntime {
namespace {

std::size_t find_index(const std::vector<std::string> &names, const std::string &name) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? node_ports::left_out : static_cast<std::size_t>(found - names.begin());
}

node_ports ports_of(const compile_arguments &a, const node &n) {
    node_ports ports;
    for (std::size_t i = 0; i < ports.inputs.size(); ++i) {
        if (!n.has(i)) continue;
        const auto &v = a.g.input(n, i);
        ports.inputs[i].index = find_index(a.inputs, v.name);
        if (v.known) ports.inputs[i].shape = v.known->shape;
    }
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
        if (n.outputs[i] != none) {
            const auto &v = a.g.values[n.outputs[i]];
            ports.outputs[i] = {find_index(a.outputs, v.name), type_of(v)};
        }
    return ports;
}

/// The shapes of the inputs that are not constant, or nothing where some are known at run time only.
std::optional<kernel::shapes> known_shapes(const graph &g, const node &n) {
    kernel::shapes shapes;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (!n.has(i) || g.input(n, i).known) continue;
        const auto &shape = g.input(n, i).shape;
        if (!is_known(shape)) return {};
        shapes[i] = *shape;
    }
    return shapes;
}

class compiled_node : public fused_node {
  public:
    compiled_node(const compile_arguments &a, const node &n)
        : fused_node(a)
        , kernel_(a.api, onnx_node(a.g, n), ports_of(a, n)) {
        if (const auto shapes = known_shapes(a.g, n))
            kernel_.prepare_for(*shapes);
        else
            onnx::output_types(onnx_node(a.g, n)); // checks what needs no shapes
    }

  private:
    void compute(OrtKernelContext &context) override { kernel_.compute(context); }

    kernel kernel_;
};

} // namespace

onnx::node onnx_node(const graph &g, const node &n) {
    // The indices of `attribute` as AttributeProto.AttributeType.
    constexpr std::int32_t attribute_types[] = {2, 1, 3, 7, 6};
    onnx::node result;
    result.op_type = n.op_type;
    result.opset = n.opset;
    result.name = n.name;
    for (const auto &[name, held] : n.attributes) {
        const auto *integer = std::get_if<std::int64_t>(&held);
        result.attributes.push_back({name, integer ? *integer : 0, attribute_types[held.index()]});
    }
    for (const auto input : n.inputs)
        result.inputs.push_back({input == none ? onnx::type::undefined : type_of(g.values[input])});
    return result;
}

std::unique_ptr<fused_node> compile_node(const compile_arguments &a, const node &n) {
    return std::make_unique<compiled_node>(a, n);
}

} // namespace dynquant::onnxruntime
