#include "onnx/op_schema.hpp"

#include <algorithm>
#include <string_view>

namespace dynquant::onnx {
namespace {

using namespace type;

// Each version of an operator allows what the one before it allows, and more.
constexpr type_set bytes_10 = {uint8, int8};
constexpr type_set quantized_19 = bytes_10 | type_set {float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};
constexpr type_set quantized_21 = quantized_19 | type_set {uint16, int16, uint4, int4};
constexpr type_set quantized_23 = quantized_21 | type_set {float4e2m1};
constexpr type_set quantized_25 = quantized_23 | type_set {uint2, int2};
constexpr type_set quantized_28 = quantized_25 | type_set {float6e2m3, float6e3m2};
constexpr type_set quark_quantized = {int32, int16, int8, uint32, uint16, uint8, float16, bfloat16};

constexpr type_set only_float = {float32};
constexpr type_set only_int32 = {int32};
constexpr type_set floats = {float32, float16, bfloat16};
constexpr type_set numbers = floats | only_int32; // x of QuantizeLinear
constexpr type_set e8m0 = {float8e8m0};
constexpr type_set computed = {uint8, int8, float8e4m3fn, float8e5m2, uint4, int4, float4e2m1, float6e2m3, float6e3m2};
constexpr type_set computed_scale = floats | e8m0 | type_set {float8e4m3fn};

constexpr attribute_schema axis = {"axis", &attributes::axis};
constexpr attribute_schema block_size = {"block_size", &attributes::block_size};
constexpr attribute_schema output_dtype = {"output_dtype", &attributes::output_dtype};
constexpr attribute_schema precision = {"precision", &attributes::precision};
constexpr attribute_schema saturate = {"saturate", &attributes::saturate};

// In the order in which the versions added them: a version has the first ones.
constexpr attribute_schema quantize_attributes[] = {axis, saturate, block_size, output_dtype, precision};
constexpr attribute_schema dequantize_attributes[] = {axis, block_size, output_dtype};
constexpr attribute_schema computing_attributes[] = {axis, block_size, {"to", &attributes::to},
        {"scale_type", &attributes::scale_type}, {"symmetric", &attributes::symmetric},
        {"rule", nullptr, &attributes::rule}};

constexpr op_schema quantize_linear(
        std::int64_t since, bool scale_like_x, type_set real, type_set scale, type_set quantized, std::size_t known) {
    return {"", "QuantizeLinear", since, direction::quantize, false, scale_like_x, real, scale, quantized,
            std::span(quantize_attributes).first(known)};
}

constexpr op_schema dequantize_linear(
        std::int64_t since, type_set real, type_set scale, type_set quantized, std::size_t known) {
    return {"", "DequantizeLinear", since, direction::dequantize, false, false, real, scale, quantized | only_int32,
            std::span(dequantize_attributes).first(known)};
}

constexpr op_schema table[] = {
        quantize_linear(10, false, only_float | only_int32, only_float, bytes_10, 0),
        quantize_linear(13, false, only_float | only_int32, only_float, bytes_10, 1),
        quantize_linear(19, true, numbers, numbers, quantized_19, 2),
        quantize_linear(21, true, numbers, numbers, quantized_21, 4),
        quantize_linear(23, false, numbers, numbers, quantized_23, 5),
        quantize_linear(24, false, numbers, numbers | e8m0, quantized_23, 5),
        quantize_linear(25, false, numbers, numbers | e8m0, quantized_25, 5),
        quantize_linear(28, false, numbers, numbers | e8m0, quantized_28, 5),
        dequantize_linear(10, only_float, only_float, bytes_10, 0),
        dequantize_linear(13, only_float, only_float, bytes_10, 1),
        dequantize_linear(19, floats, floats, quantized_19, 1),
        dequantize_linear(21, floats, floats, quantized_21, 2),
        dequantize_linear(23, floats, floats, quantized_23, 3),
        dequantize_linear(24, floats, floats | e8m0, quantized_23, 3),
        dequantize_linear(25, floats, floats | e8m0, quantized_25, 3),
        dequantize_linear(28, floats, floats | e8m0, quantized_28, 3),
        {"", "DynamicQuantizeLinear", 11, direction::quantize, true, false, only_float, only_float, {uint8}, {}},
        {"dynquant", "DynamicQuantizeLinear", 1, direction::quantize, true, false, floats, computed_scale, computed,
                computing_attributes},
        {"com.amd.quark", "ExtendedQuantizeLinear", 1, direction::quantize, false, false, only_float, only_float,
                quark_quantized, std::span(quantize_attributes).first(1)},
        {"com.amd.quark", "ExtendedDequantizeLinear", 1, direction::dequantize, false, false, only_float, only_float,
                quark_quantized, std::span(dequantize_attributes).first(1)},
};

struct domain_row {
    std::string_view name;
    std::int64_t newest_opset;
};
constexpr domain_row domains[] = {{"", 28}, {"ai.onnx", 28}, {"com.amd.quark", 1}, {"dynquant", 1}};

} // namespace

std::span<const op_schema> op_schemas() {
    return table;
}

std::int64_t newest_opset(const std::string &domain) {
    const auto *row = std::ranges::find(domains, domain, &domain_row::name);
    return row == std::end(domains) ? 0 : row->newest_opset;
}

std::span<const op_schema> versions_of(const std::string &domain, const std::string &name) {
    const auto onnx_domain = domain == "ai.onnx" ? std::string_view() : std::string_view(domain);
    const auto same = [&](const op_schema &row) { return row.domain == onnx_domain && row.name == name; };
    const auto *first = std::ranges::find_if(table, same);
    return {first, std::find_if_not(first, std::end(table), same)};
}

const char *name_of(const op_schema &schema, input position) {
    constexpr const char *quantizing[] = {"x", "y_scale", "y_zero_point"};
    constexpr const char *dequantizing[] = {"x", "x_scale", "x_zero_point"};
    return (schema.dir == direction::quantize ? quantizing : dequantizing)[position];
}

} // namespace dynquant::onnx
