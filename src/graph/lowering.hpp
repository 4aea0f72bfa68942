// From an op to the statement of what it computes.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// The statement of an op that passed its checks and whose dims src or dst know. What else is open is
/// filled in: dst's layout keeps a dense src's order of dims where it may; unknown strides are row-major;
/// an undefined data type is one that the op allows.
quantization lower(const op_record &op, numerics rule);

} // namespace dynquant::graph::core
