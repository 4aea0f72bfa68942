// The table of ops. The row of an op has everything that checks and lowering know of it.
#pragma once

#include <span>

#include "dynquant/newer_names.hpp"
#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// The inputs of every op of the family, in this order. If scales and zps are attributes, src is the only input.
enum input : size_t { src, scales, zps };

struct port_schema {
    const char *name;
    std::span<const dnnl_data_type_t> types;
    bool required;
};

inline constexpr auto group_shape_attr = static_cast<dnnl_graph_op_attr_t>(newer::group_shape);
inline constexpr auto mask_attr = static_cast<dnnl_graph_op_attr_t>(newer::mask);

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
    std::span<const port_schema> inputs;
    port_schema output;
    std::span<const attribute_schema> attributes;
};

std::span<const op_schema> op_schemas();

/// The op's row, or nullptr when it is not of this family.
const op_schema *find_schema(dnnl_graph_op_kind_t kind);

} // namespace dynquant::graph::core
