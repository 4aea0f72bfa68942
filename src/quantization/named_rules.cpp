#include "quantization/named_rules.hpp"

#include <algorithm>

namespace dynquant {

std::span<const named_rule> named_rules() {
    static const named_rule table[] = {
            {"absmax", {}},
            {"minmax", {.range = scale_range::minmax}},
            {"onnx", presets::onnx()},
            {"onednn_dynamic_quantize", presets::onednn_dynamic_quantize()},
            {"onednn_dynamic_fp", presets::onednn_dynamic_fp()},
            {"mx_floor", presets::mx(scale_rounding::floor)},
            {"mx_ceil", presets::mx(scale_rounding::ceil)},
            {"mx_even", presets::mx(scale_rounding::even)},
            {"mx_rceil", presets::mx(scale_rounding::rceil)},
            {"nvfp4", presets::nvfp4()},
            {"torchao_symmetric", presets::torchao_symmetric()},
            {"torchao_asymmetric", presets::torchao_asymmetric()},
            {"ggml_q8_0", presets::ggml_q8_0()},
            {"vllm", presets::vllm()},
    };
    return table;
}

const scale_rule *find_rule(const std::string &name) {
    const auto rules = named_rules();
    const auto found = std::ranges::find_if(rules, [&](const named_rule &row) { return row.name == name; });
    return found == rules.end() ? nullptr : &found->rule;
}

} // namespace dynquant
