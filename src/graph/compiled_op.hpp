// An op of this family alone, claimed and compiled. The partitions of libdynquant and of the drop-in both run it.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// op: checked.
std::shared_ptr<const claimed> claim_op(std::shared_ptr<const op_record> op);

} // namespace dynquant::graph::core
