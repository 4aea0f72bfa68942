// Errors that name the node: "node 'q1' (QuantizeLinear, opset 21): y_scale: expected ..., given ...".
#pragma once

#include "dynquant/onnx.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnx {

/// node 'q1' (QuantizeLinear, opset 21)
std::string label(const node &n);

/// Names of AttributeProto.AttributeType.
std::string name_of_attribute_type(std::int32_t type);

template <typename... Parts>
[[noreturn]] void refuse(const node &n, dynquant::status status, const Parts &...parts) {
    throw error(status, printable(concat(label(n), ": ", parts...)));
}

} // namespace dynquant::onnx
