// Conversions between ONNX Runtime's statuses and C++ exceptions.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>

namespace dynquant::onnxruntime {

/// An exception that carries a status from ONNX Runtime; guarded() returns it unchanged.
class status_exception {
  public:
    status_exception(const OrtApi &api, OrtStatus *status)
        : status_(status, api.ReleaseStatus) {}
    OrtStatus *release() { return status_.release(); }

  private:
    std::unique_ptr<OrtStatus, decltype(OrtApi::ReleaseStatus)> status_;
};

/// Throws a status_exception unless the status is null, which means success.
inline void check(const OrtApi &api, OrtStatus *status) {
    if (status) [[unlikely]]
        throw status_exception(api, status);
}

/// Whether the call succeeded, where a refusal is an answer, as that an attribute is missing. Throws a status_exception
/// for the code that ONNX Runtime gives to its exceptions, as where memory is used up: that is no answer.
bool succeeded(const OrtApi &api, OrtStatus *status);

/// The status for the exception that is being handled: INVALID_ARGUMENT for dynquant::error, with its message.
OrtStatus *status_of_exception(const OrtApi &api) noexcept;

/// The status for an ONNX Runtime that has no API of the version `oldest`.
OrtStatus *refuse_version(const OrtApiBase &base, std::uint32_t oldest);

/// Calls function() and turns an exception into a status; nullptr means success.
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
