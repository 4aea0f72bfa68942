// The entry point of the domains.
#include <deque>
#include <memory>

#include "onnxruntime/common/status.hpp"
#include "onnxruntime/domains/custom_op.hpp"

namespace dynquant::onnxruntime {
namespace {

/// The operators of a domain.
class domain {
  public:
    domain(const OrtApi &api, const char *name)
        : handle_(nullptr, api.ReleaseCustomOpDomain) {
        OrtCustomOpDomain *handle = nullptr;
        check(api, api.CreateCustomOpDomain(name, &handle));
        handle_.reset(handle);
        for (const auto &row : registrations_in(name))
            for (const auto &types : combinations(api, row))
                check(api, api.CustomOpDomain_Add(handle, &operators_.emplace_back(api, row, types)));
    }

    void add_to(const OrtApi &api, OrtSessionOptions *options) const {
        check(api, api.AddCustomOpDomain(options, handle_.get()));
    }

  private:
    std::unique_ptr<OrtCustomOpDomain, decltype(OrtApi::ReleaseCustomOpDomain)> handle_;
    std::deque<custom_op> operators_; // a deque, so that addresses do not change
};

std::deque<domain> make_domains(const OrtApi &api) {
    std::deque<domain> domains;
    for (const auto *name : {"dynquant", "com.amd.quark", "com.vai.quantize"})
        domains.emplace_back(api, name);
    return domains;
}

/// Adds the custom domains, which affect only models that name them. Once made they are never destroyed, as sessions do
/// not report when they stop using them.
void add_custom_domains(const OrtApi &api, OrtSessionOptions *options) {
    static const auto *const domains = new std::deque(make_domains(api));
    for (const auto &d : *domains)
        d.add_to(api, options);
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
