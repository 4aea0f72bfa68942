// The operators of models: a row for each version of each. Whatever checks, inference and the executor know of an
// operator is in its row.
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

enum class attribute_kind { integer, integers, real, text };

struct attribute_schema {
    const char *name;
    attribute_kind kind;
};

/// What makes a stage of a node.
struct settings {
    options kernel = {};
};

/// A node's stage, and which of the node's inputs it takes at run time.
struct prepared_node {
    std::unique_ptr<const stage> work;
    std::vector<std::size_t> inputs;
};

struct op_schema {
    const char *name;
    std::int64_t since; // the first opset of this version
    std::span<const input_schema> inputs;
    std::span<const attribute_schema> attributes;
    tensor_type (*infer)(const op_node &n);
    prepared_node (*prepare)(const op_node &n, const settings &s);
    /// dynquant::onnx knows inputs and attributes better.
    bool checked_elsewhere = false;
};

/// The newest opset whose operators the table knows.
inline constexpr std::int64_t newest_opset = 28;

/// All rows, the versions of an operator one after another, oldest first.
std::span<const op_schema> op_schemas();

/// The names of all operators.
std::vector<std::string> operator_names();

/// The row of an operator, which must have one, at an opset.
const op_schema &schema_of(const node &n, std::int64_t opset);

} // namespace dynquant::models
