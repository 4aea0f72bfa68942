#include "onnxruntime/common/kernel.hpp"

#include <utility>

#include "elements/table.hpp"
#include "onnx/operation.hpp"
#include "onnx/refusal.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnxruntime {
namespace {

std::size_t size_in_bytes(const onnx::value &v) {
    return static_cast<std::size_t>(dynquant::size_in_bytes(*onnx::data_type_of(v.type), *volume(v.shape)));
}

} // namespace

kernel::kernel(const OrtApi &api, onnx::node n, node_ports ports)
    : api_(api)
    , node_(std::move(n))
    , ports_(std::move(ports)) {}

void kernel::prepare_for(const shapes &s) {
    cache_.add(prepare(s));
}

void kernel::compute(OrtKernelContext &context) {
    const auto in = read_inputs(context);
    const auto matches = [&](const cached_operation &p) { return p.matches(in); };
    const auto current = cache_.find_or_add(matches, [&] {
        shapes s;
        for (std::size_t i = 0; i < s.size(); ++i)
            if (in.shapes[i]) s[i] = dims(*in.shapes[i]);
        return prepare(s);
    });

    // Nobody takes an output that is left out, but an operation computes them all.
    std::array<std::vector<std::byte>, 3> unused;
    std::array<void *, 3> data = {};
    const auto &outputs = current->operation.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (ports_.outputs[i].index != node_ports::left_out) {
            data[i] = make_output(api_, context, ports_.outputs[i].index, outputs[i].shape);
        } else {
            unused[i].resize(size_in_bytes(outputs[i]));
            data[i] = unused[i].data();
        }
    }
    current->operation.run({in.data[0], in.data[1], in.data[2], data[0], data[1], data[2]});
}

bool kernel::cached_operation::matches(const inputs &in) const {
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (in.shapes[i] ? !shapes[i] || !(*in.shapes[i] == *shapes[i]) : shapes[i].has_value()) return false;
    return true;
}

kernel::inputs kernel::read_inputs(const OrtKernelContext &context) const {
    inputs in;
    for (std::size_t i = 0; i < ports_.inputs.size(); ++i) {
        const auto &port = ports_.inputs[i];
        in.data[i] = port.data;
        if (port.data || port.index == node_ports::left_out) continue;
        const auto *tensor = input_of(api_, context, port.index);
        if (!tensor) continue;
        in.data[i] = data_of(api_, *tensor);
        if (!port.shape) in.shapes[i] = shape_of(api_, *tensor);
    }
    return in;
}

std::shared_ptr<const kernel::cached_operation> kernel::prepare(const shapes &s) const {
    auto n = node_;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        if (const auto &constant = ports_.inputs[i].shape)
            n.inputs[i].shape = *constant;
        else if (s[i])
            n.inputs[i].shape = *s[i];
        else
            n.inputs[i] = {}; // left out
    }
    auto operation = onnx::prepare(n, {}, kernels::own_kernels());
    check_types(operation);
    return std::make_shared<const cached_operation>(cached_operation {s, std::move(operation)});
}

/// The types of outputs may be wrong where ONNX Runtime derives them from the inputs of a custom operator: it does not
/// call infer_outputs(), or ignores its result.
void kernel::check_types(const onnx::operation &operation) const {
    constexpr const char *names[] = {"y", "y_scale", "y_zero_point"};
    for (std::size_t i = 0; i < operation.outputs().size(); ++i) {
        const auto expected = operation.outputs()[i].type;
        if (ports_.outputs[i].index != node_ports::left_out && ports_.outputs[i].type != expected)
            onnx::refuse(node_, status::invalid_data_type, names[i], ": expected type ", onnx::name_of(expected),
                    ", given ", onnx::name_of(ports_.outputs[i].type), ", as which ONNX Runtime took it");
    }
}

} // namespace dynquant::onnxruntime
