#include "onnxruntime/kernel.hpp"

#include <utility>

#include "onnx/operation.hpp"
#include "onnx/refusal.hpp"
#include "onnxruntime/custom_op.hpp"
#include "onnxruntime/node_info.hpp"
#include "onnxruntime/status.hpp"
#include "onnxruntime/tensor.hpp"
#include "onnxruntime/threads.hpp"

namespace dynquant::onnxruntime {

kernel::kernel(const custom_op &op, const OrtKernelInfo &info)
    : api_(op.api)
    , output_types_(op.outputs)
    , node_(read_node(op, info)) {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
        constants_[i] = read_constant(info, i);
}

void kernel::compute(OrtKernelContext &context) {
    const session_threads threads(api_, &context);
    const auto in = read_inputs(context);
    auto current = cache_.find([&](const cached_operation &p) { return p.matches(in); });
    if (!current) {
        current = std::make_shared<const cached_operation>(prepare(in));
        cache_.add(current);
    }

    onnx::arguments args = {in.data[0], in.data[1], in.data[2]};
    const auto &outputs = current->operation.outputs();
    args.y = make_output(api_, context, 0, outputs[0].shape);
    if (outputs.size() > 1) {
        args.y_scale = static_cast<float *>(make_output(api_, context, 1, outputs[1].shape));
        args.y_zero_point = static_cast<std::uint8_t *>(make_output(api_, context, 2, outputs[2].shape));
    }
    current->operation.run(args);
}

bool kernel::cached_operation::matches(const inputs &in) const {
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (in.shapes[i] ? !shapes[i] || !(*in.shapes[i] == *shapes[i]) : shapes[i].has_value()) return false;
    return true;
}

kernel::inputs kernel::read_inputs(const OrtKernelContext &context) const {
    inputs in;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
        if (constants_[i]) {
            in.data[i] = constants_[i]->data;
            continue;
        }
        const auto *tensor = input_of(api_, context, i);
        if (!tensor) continue;
        in.data[i] = data_of(api_, *tensor);
        in.shapes[i] = shape_of(api_, *tensor);
    }
    return in;
}

std::optional<kernel::constant> kernel::read_constant(const OrtKernelInfo &info, std::size_t index) const {
    int found = 0;
    const OrtValue *tensor = nullptr;
    check(api_, api_.KernelInfoGetConstantInput_tensor(&info, index, &found, &tensor));
    if (found == 0 || !tensor) return std::nullopt;
    return constant {data_of(api_, *tensor), dims(shape_of(api_, *tensor))};
}

kernel::cached_operation kernel::prepare(const inputs &in) const {
    auto n = node_;
    std::array<std::optional<dims>, 3> shapes;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        if (in.shapes[i]) shapes[i] = dims(*in.shapes[i]);
        if (constants_[i])
            n.inputs[i].shape = constants_[i]->shape;
        else if (shapes[i])
            n.inputs[i].shape = *shapes[i];
        else
            n.inputs[i] = {}; // left out
    }
    cached_operation result = {std::move(shapes), onnx::prepare(n, {}, kernels::own_kernels())};
    check_types(result.operation);
    return result;
}

/// The type of y may be wrong: ONNX Runtime derives it from the inputs where it does not call infer_outputs() or
/// ignores its result.
void kernel::check_types(const onnx::operation &operation) const {
    for (std::size_t i = 0; i < output_types_.size(); ++i) {
        const auto expected = operation.outputs()[i].type;
        if (output_types_[i] != expected)
            onnx::refuse(node_, dnnl_invalid_data_type, "y: expected type ", onnx::name_of(expected), ", given ",
                    onnx::name_of(output_types_[i]), ", as which ONNX Runtime took it");
    }
}

} // namespace dynquant::onnxruntime
