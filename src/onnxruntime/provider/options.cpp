#include "onnxruntime/provider/options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "onnxruntime/common/status.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const Parts &...parts) {
    throw error(status::invalid_arguments, concat("dynquant: option ", parts...));
}

/// The index of a name, which is that of its value.
int index_of(const std::string &key, const std::string &given, const std::vector<std::string> &names) {
    const auto found = std::ranges::find(names, given);
    if (found == names.end())
        refuse("'", key, "': expected ", alternatives(names, std::identity {}), ", given '", given, "'",
                suggest(given, names));
    return static_cast<int>(found - names.begin());
}

void set(options &to, const std::string &key, const std::string &value) {
    if (key == "claim") {
        to.claim = static_cast<claim_policy>(index_of(key, value, {"auto", "all", "none"}));
    } else if (key == "activation_scales") {
        to.scales = static_cast<activation_scales>(index_of(key, value, {"per_tensor", "per_row"}));
    } else if (key == "weight_only") {
        to.weight_only = static_cast<weight_only_policy>(index_of(key, value, {"off", "auto", "int8_x"}));
    } else if (key == "threads") {
        const auto *const end = value.data() + value.size();
        const auto [rest, failure] = std::from_chars(value.data(), end, to.threads);
        if (failure != std::errc() || rest != end || to.threads < 0)
            refuse("'threads': expected a number of threads, or 0 for all of the session, given '", value, "'");
    } else if (key == "verbose") {
        if (value != "0" && value != "1") refuse("'verbose': expected 0 or 1, given '", value, "'");
        to.verbose = value == "1";
    } else {
        const std::vector<std::string> keys {"activation_scales", "claim", "threads", "verbose", "weight_only"};
        refuse("'", key, "': expected ", alternatives(keys, std::identity {}), suggest(key, keys));
    }
}

std::string in_lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// Whether an entry of another prefix, "ep.<provider>.<option>", means this provider: by a name that is nearer to this
/// one's, or to the library's, than a misspelling is.
bool is_meant(const std::string &key) {
    const auto lower = in_lower_case(key);
    const auto end = lower.rfind('.');
    if (!lower.starts_with("ep.") || end <= 3) return false;
    const auto name = lower.substr(3, end - 3);
    return edit_distance(name, in_lower_case(provider_name)) <= 3 || edit_distance(name, "dynquant") <= 2;
}

/// Whether ONNX Runtime fails under its own entry if a provider fuses nodes: by a part of the value.
bool forbids_claims(std::string_view key, std::string_view value) {
    constexpr std::pair<std::string_view, std::string_view> entries[] = {
            {"ep.context_enable", "1"}, // also ModelCompiler's
            {"session.disable_model_compile", "1"}, {"session.layer_assignment_settings", "CPUExecutionProvider"},
            {"session.name_based_layer_assignment", "CPUExecutionProvider"}, {"session.max_shape_override", ":"}};
    return std::ranges::any_of(
            entries, [&](const auto &e) { return key == e.first && value.find(e.second) != value.npos; });
}

/// Reads what ONNX Runtime knows of its MatMulNBits. It refuses numbers that it does not know itself.
void read_matmul_nbits(matmul_nbits_entries &to, std::string_view key, std::string_view value) {
    if (key == "session.disable_quant_qdq") {
        to.are_made = to.are_made && value != "1";
    } else if (key == "optimization.disable_specified_optimizers") {
        to.are_made =
                to.are_made && concat(';', value, ';').find(";QDQSelectorActionTransformer;") == std::string::npos;
    } else if (key == "session.qdq_matmulnbits_accuracy_level") {
        to.quantize_x = value == "4";
    } else if (key == "session.qdq_matmulnbits_block_size") {
        std::from_chars(value.data(), value.data() + value.size(), to.block);
    }
}

} // namespace

options read_options(const OrtApi &api, const OrtSessionOptions &session, int ort_version) {
    // ONNX Runtime writes the name in lower case. Keys that are written by hand may miss it.
    const auto prefix = concat("ep.", in_lower_case(provider_name), ".");
    OrtKeyValuePairs *entries = nullptr;
    check(api, api.GetSessionOptionsConfigEntries(&session, &entries));
    const std::unique_ptr<OrtKeyValuePairs, decltype(OrtApi::ReleaseKeyValuePairs)> owner(
            entries, api.ReleaseKeyValuePairs);
    const char *const *keys = nullptr, *const *values = nullptr;
    std::size_t count = 0;
    api.GetKeyValuePairs(entries, &keys, &values, &count);
    options result;
    result.ort_version = ort_version;
    for (std::size_t i = 0; i < count; ++i) {
        read_matmul_nbits(result.matmul_nbits, keys[i], values[i]);
        if (const std::string key = keys[i]; key.starts_with(prefix))
            set(result, key.substr(prefix.size()), values[i]);
        else if (forbids_claims(key, values[i]))
            result.leaves_all = key;
        else if (is_meant(key))
            throw error(status::invalid_arguments,
                    concat("dynquant: session option '", key, "': expected '", prefix, key.substr(key.rfind('.') + 1),
                            "', in lower case and by this name, or another provider's"));
    }
    return result;
}

} // namespace dynquant::onnxruntime
