#include "onnxruntime/custom_op.hpp"

#include <limits>
#include <memory>

#include "onnxruntime/inference.hpp"
#include "onnxruntime/node_info.hpp"
#include "onnxruntime/status.hpp"

namespace dynquant::onnxruntime {
namespace {

const custom_op &self(const OrtCustomOp *op) {
    return *static_cast<const custom_op *>(op);
}

kernel &kernel_of(void *op_kernel) {
    return *static_cast<kernel *>(op_kernel);
}

/// compute() reports what is wrong with the node, as ONNX Runtime changes the status of errors here.
OrtStatus *create(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **result) noexcept {
    return guarded(*api, [&] {
        const auto n = read_node(self(op), *info);
        *result = std::make_unique<kernel>(self(op).api, n, read_ports(self(op), *info, n)).release();
    });
}

OrtStatus *compute(void *op_kernel, OrtKernelContext *context) noexcept {
    return guarded(kernel_of(op_kernel).api(), [&] { kernel_of(op_kernel).compute(*context); });
}

OrtStatus *infer(const OrtCustomOp *op, OrtShapeInferContext *context) noexcept {
    return guarded(self(op).api, [&] { infer_outputs(self(op), *context); });
}

/// Only the zero point, input 2, may be left out.
OrtCustomOpInputOutputCharacteristic input_characteristic(const OrtCustomOp *, std::size_t index) {
    return index == 2 ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

} // namespace

custom_op::custom_op(const OrtApi &runtime, const registration &o, const kernel_types &t)
    : OrtCustomOp {}
    , api(runtime)
    , operation(o)
    , types(t) {
    const bool computes_parameters = t.scale == onnx::type::undefined;
    if (computes_parameters) {
        inputs = {t.x};
        outputs = {t.y, onnx::type::float32, t.zero_point};
    } else {
        inputs = {t.x, t.scale, t.zero_point};
        outputs = {t.y};
    }
    version = api_version;
    CreateKernelV2 = create;
    KernelComputeV2 = compute;
    KernelDestroy = [](void *op_kernel) { delete static_cast<kernel *>(op_kernel); };
    GetName = [](const OrtCustomOp *op) { return self(op).operation.name; };
    GetExecutionProviderType = [](const OrtCustomOp *) { return "CPUExecutionProvider"; };
    GetInputTypeCount = [](const OrtCustomOp *op) { return self(op).inputs.size(); };
    GetInputType = [](const OrtCustomOp *op, std::size_t index) { return ort_type(self(op).inputs[index]); };
    GetInputCharacteristic = input_characteristic;
    GetInputMemoryType = [](const OrtCustomOp *, std::size_t) { return OrtMemTypeDefault; };
    GetOutputTypeCount = [](const OrtCustomOp *op) { return self(op).outputs.size(); };
    GetOutputType = [](const OrtCustomOp *op, std::size_t index) { return ort_type(self(op).outputs[index]); };
    GetOutputCharacteristic = [](const OrtCustomOp *, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    InferOutputShapeFn = infer;
    GetStartVersion = [](const OrtCustomOp *op) { return self(op).operation.since; };
    GetEndVersion = [](const OrtCustomOp *) { return std::numeric_limits<int>::max(); };
    // For variadic inputs and outputs, of which there are none.
    GetVariadicInputMinArity = [](const OrtCustomOp *) { return 1; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp *) { return 1; };
    GetVariadicOutputMinArity = [](const OrtCustomOp *) { return 1; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp *) { return 1; };
}

} // namespace dynquant::onnxruntime
