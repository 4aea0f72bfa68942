#include "onnxruntime/common/tensor.hpp"

#include <memory>

#include "onnxruntime/common/status.hpp"

namespace dynquant::onnxruntime {
namespace {

void *mutable_data_of(const OrtApi &api, OrtValue *tensor) {
    void *data = nullptr;
    check(api, api.GetTensorMutableData(tensor, &data));
    return data;
}

} // namespace

const OrtValue *input_of(const OrtApi &api, const OrtKernelContext &context, std::size_t index) {
    const OrtValue *tensor = nullptr;
    check(api, api.KernelContext_GetInput(&context, index, &tensor));
    return tensor;
}

const void *data_of(const OrtApi &api, const OrtValue &tensor) {
    return mutable_data_of(api, const_cast<OrtValue *>(&tensor)); // the only getter of ONNX Runtime 1.17
}

small_shape shape_of(const OrtApi &api, const OrtValue &tensor) {
    OrtTensorTypeAndShapeInfo *info = nullptr;
    check(api, api.GetTensorTypeAndShape(&tensor, &info));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(OrtApi::ReleaseTensorTypeAndShapeInfo)> owner(
            info, api.ReleaseTensorTypeAndShapeInfo);
    std::size_t rank = 0;
    check(api, api.GetDimensionsCount(info, &rank));
    small_shape shape(rank);
    check(api, api.GetDimensions(info, shape.data(), rank));
    return shape;
}

void *make_output(const OrtApi &api, OrtKernelContext &context, std::size_t index, const dims &shape) {
    OrtValue *tensor = nullptr;
    check(api, api.KernelContext_GetOutput(&context, index, shape.data(), shape.size(), &tensor));
    return mutable_data_of(api, tensor);
}

} // namespace dynquant::onnxruntime
