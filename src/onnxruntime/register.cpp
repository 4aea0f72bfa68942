// The two entry points.
#include <cstdlib>
#include <deque>
#include <string_view>

#include "onnxruntime/constant_folding.hpp"
#include "onnxruntime/custom_op.hpp"
#include "onnxruntime/status.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

/// The operators of a domain. Never destroyed, as sessions do not report when they stop using it.
class domain {
  public:
    domain(const OrtApi &api, const char *name) {
        check(api, api.CreateCustomOpDomain(name, &handle_));
        for (const auto &row : registrations_in(name))
            for (const auto &types : combinations(api, row))
                check(api, api.CustomOpDomain_Add(handle_, &operators_.emplace_back(api, row, types)));
    }

    void add_to(const OrtApi &api, OrtSessionOptions *options) const {
        check(api, api.AddCustomOpDomain(options, handle_));
    }

  private:
    OrtCustomOpDomain *handle_ = nullptr;
    std::deque<custom_op> operators_; // a deque, so that addresses do not change
};

/// Adds the custom domains, which affect only models that name them.
void add_custom_domains(const OrtApi &api, OrtSessionOptions *options) {
    static const domain *const domains[] = {
            new domain(api, "dynquant"), new domain(api, "com.amd.quark"), new domain(api, "com.vai.quantize")};
    for (const auto *d : domains)
        d->add_to(api, options);
}

/// Replaces ONNX Runtime's standard operators.
void add_standard_domain(const OrtApi &api, OrtSessionOptions *options) {
    static const auto *const standard = new domain(api, "");
    standard->add_to(api, options);
    disable_constant_folding(api, *options);
}

bool is_standard_requested() {
    const char *text = std::getenv("DYNQUANT_ORT_STANDARD");
    const std::string_view value = text ? text : "";
    if (!value.empty() && value != "0" && value != "1")
        throw error(dnnl_invalid_arguments, concat("DYNQUANT_ORT_STANDARD: expected 0 or 1, given '", value, "'"));
    return value == "1";
}

OrtStatus *refuse_version(const OrtApiBase &base) {
    const auto message =
            concat("dynquant: expected ONNX Runtime 1.", api_version, " or newer, given ", base.GetVersionString());
    return base.GetApi(1)->CreateStatus(ORT_FAIL, message.c_str()); // every version has API 1
}

OrtStatus *add_domains(OrtSessionOptions *options, const OrtApiBase *base, bool (*is_standard_replaced)()) {
    const OrtApi *api = base->GetApi(api_version);
    if (!api) return refuse_version(*base);
    return guarded(*api, [&] {
        const bool replaces_standard = is_standard_replaced();
        add_custom_domains(*api, options);
        if (replaces_standard) add_standard_domain(*api, options);
    });
}

} // namespace
} // namespace dynquant::onnxruntime

extern "C" {

/// What SessionOptions.register_custom_ops_library calls. Standard operators are replaced when the environment variable
/// DYNQUANT_ORT_STANDARD is 1.
[[gnu::visibility("default")]] OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
    using namespace dynquant::onnxruntime;
    return add_domains(options, base, is_standard_requested);
}

/// RegisterCustomOps() that always replaces standard operators.
[[gnu::visibility("default")]] OrtStatus *RegisterCustomOpsAltName(OrtSessionOptions *options, const OrtApiBase *base) {
    using namespace dynquant::onnxruntime;
    return add_domains(options, base, [] { return true; });
}
}
