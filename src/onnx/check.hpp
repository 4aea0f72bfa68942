// Checks of a node that need no shapes.
#pragma once

#include <optional>

#include "onnx/op_schema.hpp"

namespace dynquant::onnx {

/// A node whose operator, attributes, inputs and their types are valid.
struct checked_node {
    const node &given;
    const op_schema &schema;
    attributes values;
    element_type y;
    std::optional<scale_rule> computed;

    bool has(input position) const { return position < given.inputs.size() && given.inputs[position].type != 0; }
    const value &at(input position) const { return given.inputs[position]; }
    const char *name(input position) const { return name_of(schema, position); }
};

/// Throws error unless the node is valid. The node must outlive the result.
checked_node check(const node &n);

/// ", which opset 21 allows" if a version of the operator has the type among its `allowed` ones. Otherwise "".
std::string suggest_opset(const node &n, element_type given, type_set op_schema::*allowed);

/// The row of the node's operator at its opset.
const op_schema &schema_of(const node &n);

/// The node's attributes, checked against the row, with the types that they name.
attributes attributes_of(const node &n, const op_schema &schema);

/// Whether the node states the attribute, rather than leaving it to its default.
bool states(const node &n, const char *name);

/// How an operator that computes its scales does so: what `rule` names, else what follows from `symmetric` and the
/// types.
scale_rule rule_of(const node &n, const attributes &values);

/// What `to` and `scale_type` may be beside the `rule` or else beside `symmetric`.
type_set y_types_for(const node &n, const attributes &values, const op_schema &schema);
type_set scale_types_for(const attributes &values, const op_schema &schema);

} // namespace dynquant::onnx
