// What an op must fulfil.
#pragma once

#include "graph/op_schema.hpp"

namespace dynquant::graph::core {

/// At add_op what is unknown is tolerated. At compile, with the ports that compile was given, what is
/// unknown of an input is refused and what is unknown of the output is inferred later.
enum class stage { add_op, compile };

/// The statement of an op, by lower(), where its dims are known, as they are at compile. Throws unless the op is of
/// this family and right as far as it is known.
std::optional<quantization> check(const op_record &op, stage when, numerics rule = numerics::strict);

/// The parts of it, in their order: each may rely on those before it. check_attributes comes first.
void check_port(const op_record &op, const port_schema &schema, const c_logical_tensor &t, bool is_output, stage when);
void check_shapes(const op_record &op, const op_schema &schema);

} // namespace dynquant::graph::core
