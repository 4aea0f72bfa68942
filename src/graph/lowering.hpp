// Turns an op into a statement (dynquant::quantization).
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// The statement of a checked op whose dims are known from src or dst. Other unknowns get defaults: a dst that is not
/// strided keeps a dense src's order of dims; unknown strides are row-major; an undefined data type is one that the op
/// allows.
quantization lower(const op_record &op, numerics rule);

} // namespace dynquant::graph::core
