#include "model/op_schema.hpp"

#include <algorithm>

#include "model/operators/operators.hpp"

namespace dynquant::models {
namespace {

using onnx::type_set;
namespace type = onnx::type;
using enum attribute_type;

constexpr type_set bytes = {type::uint8, type::int8}, int8 = {type::int8}, int64 = {type::int64},
                   float32 = {type::float32}, any_float = {type::float32, type::float16},
                   any = bytes | any_float | type_set {type::int32};

constexpr input_schema tensors[] = {{"input", any}}, data[] = {{"data", any}}, tanh_inputs[] = {{"input", any_float}},
                       sigmoid_inputs[] = {{"X", any_float}},
                       operands_7[] = {{"A", any_float | type_set {type::int32}},
                               {"B", any_float | type_set {type::int32}}},
                       operands[] = {{"A", any}, {"B", any}}, relu_floats[] = {{"X", float32}},
                       relu_inputs[] = {{"X", type_set {type::float32, type::int32, type::int8}}},
                       matmul_inputs[] = {{"A", bytes}, {"B", int8}, {"a_zero_point", bytes, true},
                               {"b_zero_point", int8, true}},
                       conv_inputs[] = {{"x", bytes}, {"w", int8}, {"x_zero_point", bytes, true},
                               {"w_zero_point", int8, true}},
                       float_matmul_inputs[] = {{"A", float32}, {"B", float32}},
                       gemm_inputs_9[] = {{"A", float32}, {"B", float32}, {"C", float32}},
                       gemm_inputs[] = {{"A", float32}, {"B", float32}, {"C", float32, true}},
                       float_conv_inputs[] = {{"X", float32}, {"W", float32}, {"B", float32, true}},
                       reshape_inputs[] = {{"data", any}, {"shape", int64}}, pool_floats[] = {{"X", float32}},
                       pool_inputs[] = {{"X", bytes | float32}};

constexpr attribute_schema cast_attributes_9[] = {{"to", integer}},
                           cast_attributes_19[] = {{"to", integer}, {"saturate", integer}},
                           cast_attributes[] = {{"to", integer}, {"saturate", integer}, {"round_mode", text}},
                           flatten_attributes[] = {{"axis", integer}}, reshape_attributes[] = {{"allowzero", integer}},
                           transpose_attributes[] = {{"perm", integers}},
                           conv_attributes[] = {{"auto_pad", text}, {"dilations", integers}, {"group", integer},
                                   {"kernel_shape", integers}, {"pads", integers}, {"strides", integers}},
                           gemm_attributes[] = {{"alpha", real}, {"beta", real}, {"transA", integer},
                                   {"transB", integer}},
                           pool_attributes[] = {{"auto_pad", text}, {"ceil_mode", integer}, {"dilations", integers},
                                   {"kernel_shape", integers}, {"pads", integers}, {"storage_order", integer},
                                   {"strides", integers}};

// Versions of an operator are adjacent, oldest first. Versions that do not differ here share a row.
constexpr op_schema table[] = {
        {"Add", 7, operands_7, {}, infer_broadcast, prepare_add},
        {"Add", 14, operands, {}, infer_broadcast, prepare_add},
        {"Cast", 9, tensors, cast_attributes_9, infer_cast, prepare_cast},
        {"Cast", 19, tensors, cast_attributes_19, infer_cast, prepare_cast},
        {"Cast", 24, tensors, cast_attributes, infer_cast, prepare_cast},
        {"Conv", 1, float_conv_inputs, conv_attributes, infer_conv, prepare_conv},
        {"ConvInteger", 10, conv_inputs, conv_attributes, infer_conv_integer, prepare_integer_product},
        {"DequantizeLinear", 10, {}, {}, infer_quantize, prepare_quantize, true},
        {"Flatten", 9, tensors, flatten_attributes, infer_flatten, prepare_copy},
        {"Gemm", 9, gemm_inputs_9, gemm_attributes, infer_gemm, prepare_gemm},
        {"Gemm", 11, gemm_inputs, gemm_attributes, infer_gemm, prepare_gemm},
        {"Identity", 1, tensors, {}, infer_alike, prepare_copy},
        {"MatMul", 9, float_matmul_inputs, {}, infer_matmul, prepare_matmul},
        {"MatMulInteger", 10, matmul_inputs, {}, infer_matmul_integer, prepare_integer_product},
        {"MaxPool", 10, pool_floats, pool_attributes, infer_max_pool, prepare_max_pool},
        {"MaxPool", 12, pool_inputs, pool_attributes, infer_max_pool, prepare_max_pool},
        {"Mul", 7, operands_7, {}, infer_broadcast, prepare_mul},
        {"Mul", 14, operands, {}, infer_broadcast, prepare_mul},
        {"QuantizeLinear", 10, {}, {}, infer_quantize, prepare_quantize, true},
        {"Relu", 6, relu_floats, {}, infer_alike, prepare_relu},
        {"Relu", 14, relu_inputs, {}, infer_alike, prepare_relu},
        {"Reshape", 5, reshape_inputs, {}, infer_reshape, prepare_copy},
        {"Reshape", 14, reshape_inputs, reshape_attributes, infer_reshape, prepare_copy},
        {"Sigmoid", 6, sigmoid_inputs, {}, infer_alike, prepare_sigmoid},
        {"Tanh", 6, tanh_inputs, {}, infer_alike, prepare_tanh},
        {"Transpose", 1, data, transpose_attributes, infer_transpose, prepare_transpose},
};

} // namespace

std::vector<std::string> operator_names() {
    std::vector<std::string> names;
    for (const auto &row : table)
        if (names.empty() || names.back() != row.name) names.emplace_back(row.name);
    return names;
}

std::span<const op_schema> op_schemas() {
    return table;
}

const op_schema &schema_of(const node &n, std::int64_t opset) {
    const auto of_that_name = [&](const op_schema &row) { return n.op_type == row.name; };
    const auto first = std::ranges::find_if(table, of_that_name);
    const auto last = std::ranges::find_if_not(first, std::end(table), of_that_name);
    const auto after = std::find_if(first, last, [&](const op_schema &row) { return row.since > opset; });
    return *std::prev(after); // infer() has checked that the opset is not older than the first version
}

} // namespace dynquant::models
