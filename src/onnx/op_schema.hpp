// src/onnx: ONNX's quantization operators, from a node to a prepared operation. It includes public headers, parallel,
// quantization and kernels/kernels.hpp. Start with this file, then check.cpp, lowering.cpp and operation.cpp.
//
// The table of operators, with a row for each version of each. A row has everything that checks and lowering know of
// it.
#pragma once

#include <span>
#include <string>

#include "onnx/element_type.hpp"

namespace dynquant::onnx {

/// The attributes of a node, with the specification's defaults.
struct attributes {
    std::int64_t axis = 1;
    std::int64_t block_size = 0;
    std::int64_t output_dtype = 0;
    std::int64_t precision = 0;
    std::int64_t saturate = 1;
    // Of the domain dynquant:
    std::int64_t to = type::uint8;
    std::int64_t scale_type = type::float32;
    std::int64_t symmetric = 0; // 1 if `to` is signed
    std::string rule = {};
};

/// Numbers of AttributeProto.AttributeType.
namespace attribute_type {
inline constexpr std::int32_t missing = 0, real = 1, integer = 2, text = 3, reals = 6, integers = 7;
}

struct attribute_schema {
    const char *name;
    std::int64_t attributes::*value;
    std::string attributes::*text = nullptr; // of a string; else null
};

struct op_schema {
    const char *domain;
    const char *name;
    std::int64_t since; // the first opset of this version
    direction dir;
    bool dynamic;      // computes scale and zero point from x, the only input
    bool scale_like_x; // x and scale have one type
    type_set real;     // x of a quantization, or y of a dequantization
    type_set scale;
    type_set quantized; // y of a quantization, or x of a dequantization
    std::span<const attribute_schema> attributes;
};

/// All rows. The versions of an operator are adjacent, oldest first.
std::span<const op_schema> op_schemas();

/// The newest opset of a domain whose specification the table knows, or 0 for an unknown domain. "ai.onnx" is "".
std::int64_t newest_opset(const std::string &domain);

/// The versions of an operator: empty when there is none of that name in the domain.
std::span<const op_schema> versions_of(const std::string &domain, const std::string &name);

/// Names of the inputs, as the specification has them: "x", "y_scale", "y_zero_point" where y is quantized, else
/// "x", "x_scale", "x_zero_point".
enum input : std::size_t { x, scale, zero_point };
const char *name_of(const op_schema &schema, input position);

} // namespace dynquant::onnx
