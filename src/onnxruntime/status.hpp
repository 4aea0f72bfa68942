// ONNX Runtime's statuses and C++'s exceptions: neither passes the border as it is.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>

namespace dynquant::onnxruntime {

/// One binary serves ONNX Runtime 1.17 and all that came after it.
inline constexpr std::uint32_t api_version = 17;

/// A status that ONNX Runtime has given, on its way back to it.
class failure {
  public:
    failure(const OrtApi &api, OrtStatus *status)
        : status_(status, api.ReleaseStatus) {}
    OrtStatus *release() { return status_.release(); }

  private:
    std::unique_ptr<OrtStatus, decltype(OrtApi::ReleaseStatus)> status_;
};

/// Throws a failure unless the status is null, which means success.
inline void check(const OrtApi &api, OrtStatus *status) {
    if (status) [[unlikely]]
        throw failure(api, status);
}

/// The status of the exception that is being handled: ours are INVALID_ARGUMENT, with their message.
OrtStatus *status_of_exception(const OrtApi &api) noexcept;

/// Calls function(), which returns nothing, where an exception must not leave.
template <typename Function>
OrtStatus *guarded(const OrtApi &api, const Function &function) noexcept {
    try {
        function();
        return nullptr;
    } catch (...) {
        return status_of_exception(api);
    }
}

} // namespace dynquant::onnxruntime
