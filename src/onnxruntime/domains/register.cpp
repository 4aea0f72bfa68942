// The entry point of the domains.
#include <deque>

#include "onnxruntime/common/status.hpp"
#include "onnxruntime/domains/custom_op.hpp"

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

} // namespace
} // namespace dynquant::onnxruntime

/// What SessionOptions.register_custom_ops_library calls.
extern "C" [[gnu::visibility("default")]] OrtStatus *RegisterCustomOps(
        OrtSessionOptions *options, const OrtApiBase *base) {
    using namespace dynquant::onnxruntime;
    const OrtApi *api = base->GetApi(domains_api_version);
    if (!api) return refuse_version(*base, domains_api_version);
    return guarded(*api, [&] { add_custom_domains(*api, options); });
}
