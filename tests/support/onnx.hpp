// Nodes for the tests of ONNX's operators.
#pragma once

#include <gtest/gtest.h>

#include "dynquant/onnx.hpp"

namespace dynquant::test {

/// Values of TensorProto.DataType.
namespace tensor_proto {
inline constexpr onnx::element_type undefined = 0, float32 = 1, uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, int32 = 6,
                                    int64 = 7, float16 = 10, double64 = 11, uint32 = 12, bfloat16 = 16,
                                    float8e4m3fn = 17, float8e4m3fnuz = 18, float8e5m2 = 19, float8e5m2fnuz = 20,
                                    uint4 = 21, int4 = 22, float4e2m1 = 23, float8e8m0 = 24, uint2 = 25, int2 = 26,
                                    float6e2m3 = 27, float6e3m2 = 28;
} // namespace tensor_proto

inline onnx::node make_node(const std::string &op_type, std::int64_t opset, std::vector<onnx::value> inputs,
        std::vector<onnx::attribute> attributes = {}, const std::string &domain = "") {
    onnx::node n;
    n.op_type = op_type;
    n.domain = domain;
    n.opset = opset;
    n.name = "q1";
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    return n;
}

inline onnx::node quantize_linear(
        std::int64_t opset, std::vector<onnx::value> inputs, std::vector<onnx::attribute> attributes = {}) {
    return make_node("QuantizeLinear", opset, std::move(inputs), std::move(attributes));
}

inline onnx::node dequantize_linear(
        std::int64_t opset, std::vector<onnx::value> inputs, std::vector<onnx::attribute> attributes = {}) {
    return make_node("DequantizeLinear", opset, std::move(inputs), std::move(attributes));
}

inline onnx::node quark(
        const std::string &op_type, std::vector<onnx::value> inputs, std::vector<onnx::attribute> attributes = {}) {
    return make_node(op_type, 1, std::move(inputs), std::move(attributes), "com.amd.quark");
}

/// That of the domain dynquant.
inline onnx::node dynamic_quantize_linear(onnx::value x, std::vector<onnx::attribute> attributes = {}) {
    return make_node("DynamicQuantizeLinear", 1, {std::move(x)}, std::move(attributes), "dynquant");
}

/// An attribute of type STRING.
inline onnx::attribute text_attribute(const std::string &name, const std::string &value) {
    return {name, 0, 3, value};
}

} // namespace dynquant::test
