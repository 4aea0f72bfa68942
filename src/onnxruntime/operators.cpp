#include "onnxruntime/operators.hpp"

#include <algorithm>

#include "onnx/op_schema.hpp"

namespace dynquant::onnxruntime {
namespace {

constexpr const char *quark = "com.amd.quark";

constexpr registration table[] = {
        {"dynquant", "QuantizeLinear", 1, "", "QuantizeLinear"},
        {"dynquant", "DequantizeLinear", 1, "", "DequantizeLinear"},
        {"dynquant", "DynamicQuantizeLinear", 1, "dynquant", "DynamicQuantizeLinear"},
        {"", "QuantizeLinear", 10, "", "QuantizeLinear"},
        {"", "DequantizeLinear", 10, "", "DequantizeLinear"},
        {"", "DynamicQuantizeLinear", 11, "", "DynamicQuantizeLinear"},
        {"", "ConvInteger", 10, "", "ConvInteger"},
        {quark, "ExtendedQuantizeLinear", 1, quark, "ExtendedQuantizeLinear"},
        {quark, "ExtendedDequantizeLinear", 1, quark, "ExtendedDequantizeLinear"},
        {"com.vai.quantize", "ExtendedQuantizeLinear", 1, quark, "ExtendedQuantizeLinear"},
        {"com.vai.quantize", "ExtendedDequantizeLinear", 1, quark, "ExtendedDequantizeLinear"},
        // As Quark's own library names them in that domain.
        {"com.vai.quantize", "VitisQuantizeLinear", 1, quark, "ExtendedQuantizeLinear"},
        {"com.vai.quantize", "VitisDequantizeLinear", 1, quark, "ExtendedDequantizeLinear"},
};

void add_quantizing(std::vector<kernel_types> &result, const std::vector<onnx::element_type> &reals,
        const std::vector<onnx::element_type> &scales, const std::vector<onnx::element_type> &quantized) {
    for (const auto x : reals)
        for (const auto s : scales)
            for (const auto y : quantized)
                result.push_back({{x, s, y}, {y}}); // the zero point has the type of y
}

void add_computing(std::vector<kernel_types> &result, const std::vector<onnx::element_type> &reals,
        const std::vector<onnx::element_type> &scales, const std::vector<onnx::element_type> &quantized) {
    for (const auto x : reals)
        for (const auto s : scales)
            for (const auto y : quantized)
                result.push_back({{x}, {y, s, y}});
}

void add_dequantizing(std::vector<kernel_types> &result, const std::vector<onnx::element_type> &reals,
        const std::vector<onnx::element_type> &scales, const std::vector<onnx::element_type> &quantized) {
    for (const auto x : quantized)
        for (const auto s : scales) {
            auto outputs = reals; // the scale's type first: without output_dtype y is of that
            std::stable_partition(outputs.begin(), outputs.end(), [&](auto y) { return y == s; });
            for (const auto y : outputs)
                result.push_back({{x, s, x}, {y}});
        }
}

/// Each zero point has the type of its tensor.
std::vector<kernel_types> convolution_types() {
    std::vector<kernel_types> result;
    for (const auto x : {onnx::type::uint8, onnx::type::int8})
        for (const auto w : {onnx::type::uint8, onnx::type::int8})
            result.push_back({{x, w, x, w}, {onnx::type::int32}});
    return result;
}

} // namespace

bool is_convolution(const registration &o) {
    return std::string_view(o.op_type) == "ConvInteger";
}

std::vector<registration> registrations_in(std::string_view domain) {
    std::vector<registration> result;
    std::ranges::copy_if(table, std::back_inserter(result), [&](const registration &o) { return o.domain == domain; });
    return result;
}

std::vector<kernel_types> combinations(const OrtApi &api, const registration &o) {
    if (is_convolution(o)) return convolution_types();
    const auto &newest = onnx::versions_of(o.onnx_domain, o.op_type).back();
    const auto reals = known_types(api, newest.real), quantized = known_types(api, newest.quantized);
    const auto add = newest.dynamic             ? add_computing
            : newest.dir == direction::quantize ? add_quantizing
                                                : add_dequantizing;
    std::vector<kernel_types> result;
    add(result, reals, known_types(api, newest.scale), quantized);
    return result;
}

} // namespace dynquant::onnxruntime
