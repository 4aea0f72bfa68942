// The attributes of an op: oneDNN's names, checks against the schema, and access to the values.
#pragma once

#include "graph/op_schema.hpp"

namespace dynquant::graph::core {

/// oneDNN's name: "qtype". "attribute 783" when it is newer than this table.
std::string attribute_name(dnnl_graph_op_attr_t attr);

/// Throws unless the schema has each attribute, with its type, length and range, and no required one is missing.
void check_attributes(const op_record &op, const op_schema &schema);

/// The values of checked attributes.
bool is_per_channel(const op_record &op);
bool is_per_group(const op_record &op);
std::int64_t axis_of(const op_record &op);
/// Precondition: is_per_group(op).
const std::vector<std::int64_t> &group_shape_of(const op_record &op);

/// The attribute's value, or nullptr when it is not set. T is an alternative of attribute_value.
template <typename T>
const T *find_attribute(const op_record &op, dnnl_graph_op_attr_t attr) {
    const auto found = op.attributes.find(attr);
    return found == op.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

} // namespace dynquant::graph::core
