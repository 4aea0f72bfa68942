#include "onnxruntime/status.hpp"

#include <exception>

#include "dynquant/quantization.hpp"

namespace dynquant::onnxruntime {

OrtStatus *status_of_exception(const OrtApi &api) noexcept {
    try {
        throw;
    } catch (status_exception &e) {
        return e.release();
    } catch (const dnnl::error &e) {
        return api.CreateStatus(ORT_INVALID_ARGUMENT, e.message);
    } catch (const std::exception &e) {
        return api.CreateStatus(ORT_FAIL, e.what());
    } catch (...) {
        return api.CreateStatus(ORT_FAIL, "dynquant: an unknown exception");
    }
}

} // namespace dynquant::onnxruntime
