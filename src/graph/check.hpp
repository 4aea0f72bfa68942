// Checks of an op.
#pragma once

#include "graph/op_schema.hpp"

namespace dynquant::graph::core {

/// add_op: unknown types, dims and strides are allowed. compile, with the ports that it was given: unknowns of an input
/// are refused, those of the output are inferred later.
enum class stage { add_op, compile };

/// Throws unless the op, which is of this family, is valid as far as it is known. Returns its statement, see lower(),
/// if its dims are known, as they are at compile.
std::optional<quantization> check(const op_record &op, stage when, numerics rule = numerics::strict);

/// Steps of check() after check_attributes(), in this order. Each may rely on the earlier ones.
void check_port(const op_record &op, const port_schema &schema, const c_logical_tensor &t, bool is_output, stage when);
void check_shapes(const op_record &op);

} // namespace dynquant::graph::core
