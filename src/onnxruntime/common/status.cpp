#include "onnxruntime/common/status.hpp"

#include <exception>

#include "dynquant/quantization.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {

bool succeeded(const OrtApi &api, OrtStatus *status) {
    if (status && api.GetErrorCode(status) == ORT_RUNTIME_EXCEPTION) throw status_exception(api, status);
    api.ReleaseStatus(status);
    return !status;
}

OrtStatus *status_of_exception(const OrtApi &api) noexcept {
    try {
        throw;
    } catch (status_exception &e) {
        return e.release();
    } catch (const error &e) {
        return api.CreateStatus(ORT_INVALID_ARGUMENT, e.what());
    } catch (const std::exception &e) {
        return api.CreateStatus(ORT_FAIL, e.what());
    } catch (...) {
        return api.CreateStatus(ORT_FAIL, "dynquant: an unknown exception");
    }
}

OrtStatus *refuse_version(const OrtApiBase &base, std::uint32_t oldest) {
    const auto message =
            concat("dynquant: expected ONNX Runtime 1.", oldest, " or newer, given ", base.GetVersionString());
    return base.GetApi(1)->CreateStatus(ORT_FAIL, message.c_str()); // every version has API 1
}

} // namespace dynquant::onnxruntime
