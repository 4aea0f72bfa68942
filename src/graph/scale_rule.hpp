// The rule that a DynamicQuantize with computed scales states by its attributes.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Throws for wrong values of attributes. Preconditions, also below: computes_scales(op), attributes of the right
/// types.
scale_rule scale_rule_of(const op_record &op);

/// quantization::saturate. As in ONNX's QuantizeLinear, true if not set.
bool saturates(const op_record &op);

/// Throws unless the rule, the number of outputs and the known data types fit each other.
void check_computed(const op_record &op);

} // namespace dynquant::graph::core
