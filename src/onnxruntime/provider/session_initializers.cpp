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
    const auto [at, is_new] = known_.try_emplace(name, false);
    if (is_new)
        if (auto *const refusal = api_.AddInitializer(copy_.get(), name.c_str(), value_.get())) {
            api_.ReleaseStatus(refusal);
            at->second = true;
        }
    return at->second;
}

} // namespace dynquant::onnxruntime
