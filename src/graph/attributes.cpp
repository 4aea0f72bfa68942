#include "graph/attributes.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "graph/refusal.hpp"

namespace dynquant::graph::core {
namespace {

template <value_type type>
using alternative = std::variant_alternative_t<static_cast<size_t>(type), attribute_value::base>;
static_assert(std::is_same_v<alternative<value_type::s64>, std::vector<std::int64_t>>);
static_assert(std::is_same_v<alternative<value_type::f32>, std::vector<float>>);
static_assert(std::is_same_v<alternative<value_type::boolean>, bool>);
static_assert(std::is_same_v<alternative<value_type::string>, std::string>);
constexpr const char *value_type_names[] = {"s64", "f32", "bool", "string"};

/// The attribute names of oneDNN 3.2, group_shape, mask and own ones, for messages.
constexpr struct {
    dnnl_graph_op_attr_t attr;
    const char *name;
} names[] = {
        {dnnl_graph_op_attr_alpha, "alpha"},
        {dnnl_graph_op_attr_beta, "beta"},
        {dnnl_graph_op_attr_epsilon, "epsilon"},
        {dnnl_graph_op_attr_max, "max"},
        {dnnl_graph_op_attr_min, "min"},
        {dnnl_graph_op_attr_momentum, "momentum"},
        {dnnl_graph_op_attr_scales, "scales"},
        {dnnl_graph_op_attr_axis, "axis"},
        {dnnl_graph_op_attr_begin_norm_axis, "begin_norm_axis"},
        {dnnl_graph_op_attr_groups, "groups"},
        {mask_attr, "mask"},
        {dnnl_graph_op_attr_axes, "axes"},
        {dnnl_graph_op_attr_dilations, "dilations"},
        {dnnl_graph_op_attr_dst_shape, "dst_shape"},
        {dnnl_graph_op_attr_kernel, "kernel"},
        {dnnl_graph_op_attr_order, "order"},
        {dnnl_graph_op_attr_output_padding, "output_padding"},
        {dnnl_graph_op_attr_pads_begin, "pads_begin"},
        {dnnl_graph_op_attr_pads_end, "pads_end"},
        {dnnl_graph_op_attr_shape, "shape"},
        {dnnl_graph_op_attr_sizes, "sizes"},
        {dnnl_graph_op_attr_src_shape, "src_shape"},
        {dnnl_graph_op_attr_strides, "strides"},
        {dnnl_graph_op_attr_weights_shape, "weights_shape"},
        {dnnl_graph_op_attr_zps, "zps"},
        {group_shape_attr, "group_shape"},
        {dnnl_graph_op_attr_exclude_pad, "exclude_pad"},
        {dnnl_graph_op_attr_keep_dims, "keep_dims"},
        {dnnl_graph_op_attr_keep_stats, "keep_stats"},
        {dnnl_graph_op_attr_per_channel_broadcast, "per_channel_broadcast"},
        {dnnl_graph_op_attr_special_zero, "special_zero"},
        {dnnl_graph_op_attr_transpose_a, "transpose_a"},
        {dnnl_graph_op_attr_transpose_b, "transpose_b"},
        {dnnl_graph_op_attr_use_affine, "use_affine"},
        {dnnl_graph_op_attr_use_dst, "use_dst"},
        {dnnl_graph_op_attr_auto_broadcast, "auto_broadcast"},
        {dnnl_graph_op_attr_auto_pad, "auto_pad"},
        {dnnl_graph_op_attr_coordinate_transformation_mode, "coordinate_transformation_mode"},
        {dnnl_graph_op_attr_data_format, "data_format"},
        {dnnl_graph_op_attr_mode, "mode"},
        {dnnl_graph_op_attr_qtype, "qtype"},
        {dnnl_graph_op_attr_rounding_type, "rounding_type"},
        {dnnl_graph_op_attr_weights_format, "weights_format"},
        {scale_rule_attr, "scale_rule"},
        {narrow_attr, "narrow"},
        {least_attr, "least"},
        {of_zero_attr, "of_zero"},
        {quotient_attr, "quotient"},
        {nonfinite_attr, "nonfinite"},
        {saturate_attr, "saturate"},
};

void check_length(const op_record &op, const attribute_schema &schema, size_t length) {
    if (schema.list && length == 0)
        refuse(op, dnnl_invalid_arguments, schema.name, ": expected a list of one or more values, given an empty one");
    if (!schema.list && length != 1)
        refuse(op, dnnl_invalid_graph_op, schema.name, ": expected one value, given ", length);
}

void check_value(const op_record &op, const attribute_schema &schema, const attribute_value &value) {
    const auto expected = static_cast<size_t>(schema.type);
    if (value.index() != expected)
        refuse(op, dnnl_invalid_graph_op, schema.name, ": expected a value of type ", value_type_names[expected],
                ", given one of type ", value_type_names[value.index()]);
    if (const auto *list = std::get_if<std::vector<std::int64_t>>(&value)) check_length(op, schema, list->size());
    if (const auto *list = std::get_if<std::vector<float>>(&value)) check_length(op, schema, list->size());
}

bool has(const op_schema &schema, dnnl_graph_op_attr_t attr) {
    return std::ranges::find(schema.attributes, attr, &attribute_schema::attr) != schema.attributes.end();
}

void check_qtype(const op_record &op, const op_schema &schema) {
    std::vector<std::string> qtypes = {"per_tensor", "per_channel"};
    if (has(schema, group_shape_attr)) qtypes.emplace_back("per_group");
    const auto *qtype = find_attribute<std::string>(op, dnnl_graph_op_attr_qtype);
    if (qtype && std::ranges::find(qtypes, *qtype) == qtypes.end())
        refuse(op, dnnl_invalid_arguments, "qtype: expected ", alternatives(qtypes, std::identity {}), ", given '",
                *qtype, "'", suggest(*qtype, qtypes));
    if (qtype && *qtype != "per_tensor" && mask_of(op))
        refuse(op, dnnl_invalid_arguments, "qtype: expected per_tensor or none beside mask, given ", *qtype);
}

void check_group_shape(const op_record &op) {
    if (!is_grouped(op)) return;
    const auto *group = find_attribute<std::vector<std::int64_t>>(op, group_shape_attr);
    if (!group && is_per_group(op))
        refuse(op, dnnl_invalid_graph_op,
                "group_shape: expected the attribute to be set for qtype per_group, given none");
    if (!group) return;
    for (size_t d = 0; d < group->size(); ++d)
        if ((*group)[d] < 1)
            refuse(op, dnnl_invalid_arguments, "group_shape: expected values of 1 or more, given ", (*group)[d],
                    " at dim ", d);
}

// Kernels compute with zero points as s32.
void check_zps(const op_record &op) {
    using s32 = std::numeric_limits<std::int32_t>;
    const auto *zps = find_attribute<std::vector<std::int64_t>>(op, dnnl_graph_op_attr_zps);
    if (!zps) return;
    for (size_t i = 0; i < zps->size(); ++i)
        if ((*zps)[i] < s32::min() || (*zps)[i] > s32::max())
            refuse(op, dnnl_invalid_arguments, "zps: expected values within s32, given ", (*zps)[i], " at index ", i);
}

} // namespace

std::string attribute_name(dnnl_graph_op_attr_t attr) {
    for (const auto &row : names)
        if (row.attr == attr) return row.name;
    return concat("attribute ", static_cast<int>(attr));
}

void check_attributes(const op_record &op, const op_schema &schema) {
    for (const auto &[attr, value] : op.attributes) {
        const auto known = std::ranges::find(schema.attributes, attr, &attribute_schema::attr);
        if (known == schema.attributes.end())
            refuse(op, dnnl_invalid_graph_op, attribute_name(attr), ": expected an attribute among ",
                    alternatives(schema.attributes, [](const auto &a) { return a.name; }), ", given ",
                    attribute_name(attr));
        check_value(op, *known, value);
    }
    for (const auto &expected : schema.attributes)
        if (expected.required && !op.attributes.contains(expected.attr))
            refuse(op, dnnl_invalid_graph_op, expected.name, ": expected the attribute to be set, given none");
    check_qtype(op, schema);
    check_group_shape(op);
    check_zps(op);
}

bool is_per_channel(const op_record &op) {
    const auto *qtype = find_attribute<std::string>(op, dnnl_graph_op_attr_qtype);
    return qtype && *qtype == "per_channel";
}

bool is_per_group(const op_record &op) {
    const auto *qtype = find_attribute<std::string>(op, dnnl_graph_op_attr_qtype);
    return qtype && *qtype == "per_group";
}

std::int64_t axis_of(const op_record &op) {
    const auto *axis = find_attribute<std::vector<std::int64_t>>(op, dnnl_graph_op_attr_axis);
    return axis ? axis->front() : 1;
}

std::optional<std::int64_t> mask_of(const op_record &op) {
    const auto *mask = find_attribute<std::vector<std::int64_t>>(op, mask_attr);
    return mask ? std::optional(mask->front()) : std::nullopt;
}

bool is_grouped(const op_record &op) {
    return is_per_group(op) || mask_of(op);
}

grouping grouping_of(const op_record &op, int rank) {
    grouping stated = {mask_of(op).value_or((std::int64_t {1} << rank) - 1), dims(static_cast<size_t>(rank), 1)};
    if (const auto *group = find_attribute<std::vector<std::int64_t>>(op, group_shape_attr))
        std::ranges::copy_backward(*group, stated.group.end());
    return stated;
}

} // namespace dynquant::graph::core
