#include "onnxruntime/provider/session_initializers.hpp"

#include "onnxruntime/common/status.hpp"

namespace dynquant::onnxruntime {

session_initializers::session_initializers(const OrtApi &api, const OrtSessionOptions &session)
    : api_(api)
    , copy_(nullptr, api.ReleaseSessionOptions)
    , value_(nullptr, api.ReleaseValue) {
    OrtSessionOptions *copy = nullptr;
    check(api, api.CloneSessionOptions(&session, &copy));
    copy_.reset(copy);
    OrtMemoryInfo *memory = nullptr;
    check(api, api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    const std::unique_ptr<OrtMemoryInfo, decltype(OrtApi::ReleaseMemoryInfo)> owner(memory, api.ReleaseMemoryInfo);
    OrtValue *value = nullptr;
    check(api,
            api.CreateTensorWithDataAsOrtValue(
                    memory, &element_, sizeof element_, nullptr, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, &value));
    value_.reset(value);
}

bool session_initializers::replace(const std::string &name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second;
    const bool is_new = succeeded(api_, api_.AddInitializer(copy_.get(), name.c_str(), value_.get()));
    return known_.emplace(name, !is_new).first->second;
}

} // namespace dynquant::onnxruntime
