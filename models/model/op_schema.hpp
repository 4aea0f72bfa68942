// The table of operators, with a row for each version of an operator. Checks, inference and executor read only this
// table.
#pragma once

#include <span>

#include "model/stage.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models {

struct op_node;

struct input_schema {
    const char *name;
    onnx::type_set types;
    bool optional = false;
};

struct attribute_schema {
    const char *name;
    attribute_type type;
};

/// A node's stage, and how many of the node's first inputs it reads at run time.
struct prepared_node {
    stage work;
    std::size_t inputs;
};

struct op_schema {
    const char *name;
    std::int64_t since; // the first opset of this version
    std::span<const input_schema> inputs;
    std::span<const attribute_schema> attributes;
    tensor_type (*infer)(const op_node &n);
    prepared_node (*prepare)(const op_node &n, const options &opts);
    /// Whether dynquant::onnx checks inputs and attributes instead of check().
    bool checked_elsewhere = false;
};

/// The newest opset whose operators the table knows.
inline constexpr std::int64_t newest_opset = 28;

/// All rows. Versions of an operator are adjacent, oldest first.
std::span<const op_schema> op_schemas();

/// The names of all operators.
std::vector<std::string> operator_names();

/// The row of an operator at an opset. Precondition: the operator has a row.
const op_schema &schema_of(const node &n, std::int64_t opset);

} // namespace dynquant::models
