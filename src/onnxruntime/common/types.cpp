#include "onnxruntime/common/types.hpp"

#include <memory>

#include "onnxruntime/common/status.hpp"

namespace dynquant::onnxruntime {
namespace {

// ONNXTensorElementDataType in onnxruntime_c_api.h of ONNX Runtime 1.32.
constexpr onnx::element_type last_common = onnx::type::float4e2m1;
constexpr struct {
    onnx::element_type type;
    int number;
} renumbered[] = {{onnx::type::uint2, 24}, {onnx::type::int2, 25}, {onnx::type::float8e8m0, 26}};

bool is_known(const OrtApi &api, ONNXTensorElementDataType type) {
    OrtMemoryInfo *memory = nullptr;
    check(api, api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    const std::unique_ptr<OrtMemoryInfo, decltype(OrtApi::ReleaseMemoryInfo)> owner(memory, api.ReleaseMemoryInfo);
    std::byte none {};
    const std::int64_t shape[] = {0};
    OrtValue *tensor = nullptr;
    const bool made = succeeded(api, api.CreateTensorWithDataAsOrtValue(memory, &none, 0, shape, 1, type, &tensor));
    api.ReleaseValue(tensor);
    return made;
}

} // namespace

ONNXTensorElementDataType ort_type(onnx::element_type type) {
    for (const auto &row : renumbered)
        if (row.type == type) return static_cast<ONNXTensorElementDataType>(row.number);
    return static_cast<ONNXTensorElementDataType>(type <= last_common ? type : onnx::type::undefined);
}

onnx::element_type onnx_type(ONNXTensorElementDataType type) {
    for (const auto &row : renumbered)
        if (row.number == static_cast<int>(type)) return row.type;
    return static_cast<onnx::element_type>(type);
}

std::vector<onnx::element_type> known_types(const OrtApi &api, onnx::type_set types) {
    std::vector<onnx::element_type> result;
    for (onnx::element_type t = onnx::type::undefined; t <= onnx::type::float6e3m2; ++t)
        if (types.contains(t) && ort_type(t) != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED && is_known(api, ort_type(t)))
            result.push_back(t);
    return result;
}

} // namespace dynquant::onnxruntime
