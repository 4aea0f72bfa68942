#include "onnxruntime/kernel.hpp"

#include "onnx/refusal.hpp"
#include "onnxruntime/custom_op.hpp"
#include "onnxruntime/node_info.hpp"
#include "onnxruntime/status.hpp"
#include "onnxruntime/threads.hpp"

namespace dynquant::onnxruntime {

kernel::kernel(const custom_op &op, const OrtKernelInfo &info)
    : api_(op.api)
    , output_types_(op.outputs)
    , node_(read_node(op, info)) {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
        constant_shapes_[i] = read_constant_shape(info, i);
}

void kernel::compute(OrtKernelContext &context) {
    const session_threads threads(api_, &context);
    const auto in = read_inputs(context);
    auto present = last_.load(std::memory_order_acquire);
    if (!present || !present->fits(in)) present = prepare(in);

    onnx::arguments args = {in[0].data, in[1].data, in[2].data};
    args.y = output(context, *present, 0);
    if (present->operation.outputs().size() > 1) {
        args.y_scale = static_cast<float *>(output(context, *present, 1));
        args.y_zero_point = static_cast<std::uint8_t *>(output(context, *present, 2));
    }
    present->operation.run(args);
}

bool kernel::prepared::fits(const inputs &in) const {
    for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].type != in[i].value.type || given[i].shape != in[i].value.shape) return false;
    return true;
}

kernel::inputs kernel::read_inputs(const OrtKernelContext &context) const {
    inputs in;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
        const OrtValue *tensor = nullptr;
        check(api_, api_.KernelContext_GetInput(&context, i, &tensor));
        if (!tensor) continue;
        void *data = nullptr;
        check(api_, api_.GetTensorMutableData(const_cast<OrtValue *>(tensor), &data)); // there is no other
        in[i] = {data, {node_.inputs[i].type, constant_shapes_[i] ? *constant_shapes_[i] : read_shape(*tensor)}};
    }
    return in;
}

dims kernel::read_shape(const OrtValue &tensor) const {
    OrtTensorTypeAndShapeInfo *info = nullptr;
    check(api_, api_.GetTensorTypeAndShape(&tensor, &info));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(OrtApi::ReleaseTensorTypeAndShapeInfo)> owner(
            info, api_.ReleaseTensorTypeAndShapeInfo);
    std::size_t rank = 0;
    check(api_, api_.GetDimensionsCount(info, &rank));
    dims shape(rank);
    check(api_, api_.GetDimensions(info, shape.data(), rank));
    return shape;
}

std::optional<dims> kernel::read_constant_shape(const OrtKernelInfo &info, std::size_t index) const {
    int constant = 0;
    const OrtValue *tensor = nullptr;
    check(api_, api_.KernelInfoGetConstantInput_tensor(&info, index, &constant, &tensor));
    if (constant == 0 || !tensor) return std::nullopt;
    return read_shape(*tensor);
}

std::shared_ptr<const kernel::prepared> kernel::prepare(const inputs &in) {
    auto n = node_;
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        n.inputs[i] = in[i].value;
    auto result = std::make_shared<const prepared>(prepared {n.inputs, onnx::prepare(n)});
    check_types(result->operation);
    last_.store(result, std::memory_order_release);
    return result;
}

/// ONNX Runtime chooses the type of y by those of the inputs where it has not asked, or does not look at, what
/// infer_outputs() says.
void kernel::check_types(const onnx::operation &operation) const {
    for (std::size_t i = 0; i < output_types_.size(); ++i) {
        const auto expected = operation.outputs()[i].type;
        if (output_types_[i] != expected)
            onnx::refuse(node_, dnnl_invalid_data_type, "y: expected type ", onnx::name_of(expected), ", given ",
                    onnx::name_of(output_types_[i]), ", as which ONNX Runtime took it");
    }
}

void *kernel::output(OrtKernelContext &context, const prepared &p, std::size_t index) const {
    const auto &shape = p.operation.outputs()[index].shape;
    OrtValue *tensor = nullptr;
    check(api_, api_.KernelContext_GetOutput(&context, index, shape.data(), shape.size(), &tensor));
    void *data = nullptr;
    check(api_, api_.GetTensorMutableData(tensor, &data));
    return data;
}

} // namespace dynquant::onnxruntime
