#include "onnxruntime/constant_folding.hpp"

#include <string>

#include "onnxruntime/status.hpp"

namespace dynquant::onnxruntime {
namespace {

constexpr const char *key = "optimization.disable_specified_optimizers"; // names with semicolons between them

std::string entry_of(const OrtApi &api, const OrtSessionOptions &options) {
    int found = 0;
    check(api, api.HasSessionConfigEntry(&options, key, &found));
    if (found == 0) return "";
    std::size_t size = 0; // with the null at the end
    check(api, api.GetSessionConfigEntry(&options, key, nullptr, &size));
    std::string entry(size, '\0');
    check(api, api.GetSessionConfigEntry(&options, key, entry.data(), &size));
    entry.resize(size - 1);
    return entry;
}

} // namespace

void disable_constant_folding(const OrtApi &api, OrtSessionOptions &options) {
    const std::string name = "ConstantFolding";
    auto entry = entry_of(api, options);
    if ((";" + entry + ";").find(";" + name + ";") != std::string::npos) return;
    if (!entry.empty()) entry += ";";
    check(api, api.AddSessionConfigEntry(&options, key, (entry + name).c_str()));
}

} // namespace dynquant::onnxruntime
