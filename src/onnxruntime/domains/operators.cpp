#include "onnxruntime/domains/operators.hpp"

#include <algorithm>

#include "onnx/op_schema.hpp"

namespace dynquant::onnxruntime {
namespace {

constexpr const char *quark = "com.amd.quark";

constexpr registration table[] = {
        {"dynquant", "QuantizeLinear", "", "QuantizeLinear"},
        {"dynquant", "DequantizeLinear", "", "DequantizeLinear"},
        {"dynquant", "DynamicQuantizeLinear", "dynquant", "DynamicQuantizeLinear"},
        {quark, "ExtendedQuantizeLinear", quark, "ExtendedQuantizeLinear"},
        {quark, "ExtendedDequantizeLinear", quark, "ExtendedDequantizeLinear"},
        {"com.vai.quantize", "ExtendedQuantizeLinear", quark, "ExtendedQuantizeLinear"},
        {"com.vai.quantize", "ExtendedDequantizeLinear", quark, "ExtendedDequantizeLinear"},
        // Quark's own library has these names in that domain.
        {"com.vai.quantize", "VitisQuantizeLinear", quark, "ExtendedQuantizeLinear"},
        {"com.vai.quantize", "VitisDequantizeLinear", quark, "ExtendedDequantizeLinear"},
};

std::vector<kernel_types> dequantizing(const std::vector<onnx::element_type> &reals,
        const std::vector<onnx::element_type> &scales, const std::vector<onnx::element_type> &quantized) {
    std::vector<kernel_types> result;
    for (const auto x : quantized)
        for (const auto s : scales) {
            auto outputs = reals; // the scale's type first: without output_dtype y is of that
            std::stable_partition(outputs.begin(), outputs.end(), [&](auto y) { return y == s; });
            for (const auto y : outputs)
                result.push_back({{x, s, x}, {y}});
        }
    return result;
}

} // namespace

std::vector<registration> registrations_in(std::string_view domain) {
    std::vector<registration> result;
    std::ranges::copy_if(table, std::back_inserter(result), [&](const registration &o) { return o.domain == domain; });
    return result;
}

std::vector<kernel_types> combinations(const OrtApi &api, const registration &o) {
    const auto versions = onnx::versions_of(o.onnx_domain, o.op_type); // named, as g++ 14 warns of a temporary's back()
    const auto &newest = versions.back();
    const auto reals = known_types(api, newest.real), quantized = known_types(api, newest.quantized);
    const auto scales = known_types(api, newest.scale);
    if (newest.dir == direction::dequantize) return dequantizing(reals, scales, quantized);
    std::vector<kernel_types> result;
    for (const auto x : reals)
        for (const auto s : scales)
            for (const auto y : quantized) // which the zero point has the type of
                result.push_back(newest.dynamic ? kernel_types {{x}, {y, s, y}} : kernel_types {{x, s, y}, {y}});
    return result;
}

} // namespace dynquant::onnxruntime
