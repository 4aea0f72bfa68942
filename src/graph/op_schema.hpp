// The table of ops. The row of an op has everything that checks and lowering know of it.
#pragma once

#include <span>

#include "dynquant/newer_names.hpp"
#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// The inputs of every op of the family, in this order. If scales and zps are attributes, src is the only input. If
/// they are computed, they are outputs, at the same positions after dst, and the global scale may follow src.
enum input : size_t { src, scales, zps };
inline constexpr size_t global_scale = 1;

struct port_schema {
    const char *name;
    std::span<const dnnl_data_type_t> types;
    bool required;
};

inline constexpr auto group_shape_attr = static_cast<dnnl_graph_op_attr_t>(newer::group_shape);
inline constexpr auto mask_attr = static_cast<dnnl_graph_op_attr_t>(newer::mask);
inline constexpr auto scale_rule_attr = static_cast<dnnl_graph_op_attr_t>(own::scale_rule);
inline constexpr auto narrow_attr = static_cast<dnnl_graph_op_attr_t>(own::narrow);
inline constexpr auto least_attr = static_cast<dnnl_graph_op_attr_t>(own::least);
inline constexpr auto of_zero_attr = static_cast<dnnl_graph_op_attr_t>(own::of_zero);
inline constexpr auto quotient_attr = static_cast<dnnl_graph_op_attr_t>(own::quotient);
inline constexpr auto nonfinite_attr = static_cast<dnnl_graph_op_attr_t>(own::nonfinite);
inline constexpr auto saturate_attr = static_cast<dnnl_graph_op_attr_t>(own::saturate);

/// attribute_value's alternatives, in its order.
enum class value_type : size_t { s64, f32, boolean, string };

struct attribute_schema {
    dnnl_graph_op_attr_t attr;
    const char *name;
    value_type type;
    bool list; // one value or more; else exactly one
    bool required;
};

struct op_schema {
    dnnl_graph_op_kind_t kind;
    const char *name;
    direction dir;
    std::span<const port_schema> inputs, outputs;
    std::span<const attribute_schema> attributes;
};

/// oneDNN's ops.
std::span<const op_schema> op_schemas();

/// The row of oneDNN's op, or nullptr when it is not of this family.
const op_schema *find_schema(dnnl_graph_op_kind_t kind);

/// "MatMul": of an op of this family, or of another that layers have. Null of others.
const char *kind_name(dnnl_graph_op_kind_t kind);

/// Whether it is a DynamicQuantize that computes its scales.
bool computes_scales(const op_record &op);

/// The op's row. Computed scales have their own, which op_schemas() lacks.
const op_schema *find_schema(const op_record &op);

/// The ports that scales and zps are among, and what the row says of them.
inline const std::vector<c_logical_tensor> &parameter_ports(const op_record &op) {
    return computes_scales(op) ? op.outputs : op.inputs;
}
inline std::span<const port_schema> parameter_schemas(const op_record &op) {
    return computes_scales(op) ? find_schema(op)->outputs : find_schema(op)->inputs;
}

/// Whether the op goes beyond oneDNN's: it computes scales, or dequantizes what only computed scales give.
bool is_extension(const op_record &op);

} // namespace dynquant::graph::core
