// Turns an op into a statement (dynquant::quantization).
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// The statement of a checked op whose dims are known from src or dst. Other unknowns get defaults: a dst that is not
/// strided keeps a dense src's order of dims; unknown strides are row-major; an undefined data type is one that the op
/// allows.
/// Computed scales, whose rule is `computed`, and what only those give, are always under numerics::onnx.
quantization lower(const op_record &op, numerics rule, const std::optional<scale_rule> &computed);

/// The dims of scales and zps as the op's ports have them: 1-D per tensor and per channel; a dim for each varying dim
/// of src in groups and by mask.
dims parameter_dims(const op_record &op, const dims &extents);

} // namespace dynquant::graph::core
