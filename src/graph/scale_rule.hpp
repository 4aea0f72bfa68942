// The rule that a DynamicQuantize with computed scales states by its attributes.
#pragma once

#include "graph/check.hpp"

namespace dynquant::graph::core {

/// Throws for wrong values of attributes. Preconditions, also below: computes_scales(op), attributes of the right
/// types.
scale_rule scale_rule_of(const op_record &op);

/// quantization::saturate. As in ONNX's QuantizeLinear, true if not set.
bool saturates(const op_record &op);

/// Throws unless the rule, the numbers of inputs and outputs and the data types of outputs fit each other. Unknown
/// types are right at add_op.
void check_computed(const op_record &op, stage when, const scale_rule &rule);

} // namespace dynquant::graph::core
