#include "onnxruntime/domains/custom_op.hpp"

#include <limits>
#include <memory>

#include "onnxruntime/common/status.hpp"
#include "onnxruntime/common/threads.hpp"

namespace dynquant::onnxruntime {
namespace {

const custom_op &self(const OrtCustomOp *op) {
    return *static_cast<const custom_op *>(op);
}

/// compute() reports what is wrong with the node, as ONNX Runtime changes the status of errors here.
std::unique_ptr<kernel> make_kernel(const custom_op &op, const OrtKernelInfo &info) {
    const auto n = read_node(op, info);
    return std::make_unique<kernel>(op.api, n, read_ports(op, info, n));
}

OrtStatus *infer(const OrtCustomOp *op, OrtShapeInferContext *context) noexcept {
    return guarded(self(op).api, [&] { infer_outputs(self(op), *context); });
}

/// Only zero points, from input 2 on, may be left out.
OrtCustomOpInputOutputCharacteristic input_characteristic(const OrtCustomOp *, std::size_t index) {
    return index >= 2 ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

} // namespace

custom_op::custom_op(const OrtApi &runtime, const registration &o, const kernel_types &t)
    : OrtCustomOp {}
    , api(runtime)
    , operation(o)
    , inputs(t.inputs)
    , outputs(t.outputs) {
    version = domains_api_version;
    CreateKernelV2 = [](const OrtCustomOp *op, const OrtApi *, const OrtKernelInfo *info, void **result) {
        return guarded(self(op).api, [&] { *result = make_kernel(self(op), *info).release(); });
    };
    KernelComputeV2 = [](void *op_kernel, OrtKernelContext *context) {
        auto &k = *static_cast<kernel *>(op_kernel);
        return guarded(k.api(), [&] {
            const session_threads threads(k.api(), context, 0);
            k.compute(*context);
        });
    };
    KernelDestroy = [](void *op_kernel) { delete static_cast<kernel *>(op_kernel); };
    InferOutputShapeFn = infer;
    GetName = [](const OrtCustomOp *op) { return self(op).operation.name; };
    GetExecutionProviderType = [](const OrtCustomOp *) { return "CPUExecutionProvider"; };
    GetInputTypeCount = [](const OrtCustomOp *op) { return self(op).inputs.size(); };
    GetInputType = [](const OrtCustomOp *op, std::size_t index) { return ort_type(self(op).inputs[index]); };
    GetInputCharacteristic = input_characteristic;
    GetInputMemoryType = [](const OrtCustomOp *, std::size_t) { return OrtMemTypeDefault; };
    GetOutputTypeCount = [](const OrtCustomOp *op) { return self(op).outputs.size(); };
    GetOutputType = [](const OrtCustomOp *op, std::size_t index) { return ort_type(self(op).outputs[index]); };
    GetOutputCharacteristic = [](const OrtCustomOp *, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetStartVersion = [](const OrtCustomOp *) { return 1; };
    GetEndVersion = [](const OrtCustomOp *) { return std::numeric_limits<int>::max(); };
    // ONNX Runtime asks for these of variadic inputs and outputs, of which there are none.
    GetVariadicInputMinArity = [](const OrtCustomOp *) { return 1; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp *) { return 1; };
    GetVariadicOutputMinArity = [](const OrtCustomOp *) { return 1; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp *) { return 1; };
}

} // namespace dynquant::onnxruntime
