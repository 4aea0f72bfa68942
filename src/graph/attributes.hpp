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
/// Bit d says that scales and zps vary along dim d of src. If set, it states the granularity instead of qtype and axis.
std::optional<std::int64_t> mask_of(const op_record &op);

/// The granularity of per_group and of mask. Scales and zps have a dim for each bit of mask, in order: for bit d it has
/// src.dims[d] / group[d] elements. per_group has all bits.
struct grouping {
    std::int64_t mask;
    dims group; // 1 along dims that group_shape leaves out

    bool varies_along(int d) const { return (mask >> d & 1) != 0; }
    std::int64_t at(int d) const { return group[static_cast<size_t>(d)]; }
};

bool is_grouped(const op_record &op);
/// Precondition: is_grouped(op), and group_shape has no more values than the rank.
grouping grouping_of(const op_record &op, int rank);

/// The attribute's value, or nullptr when it is not set. T is an alternative of attribute_value.
template <typename T>
const T *find_attribute(const op_record &op, dnnl_graph_op_attr_t attr) {
    const auto found = op.attributes.find(attr);
    return found == op.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

} // namespace dynquant::graph::core
