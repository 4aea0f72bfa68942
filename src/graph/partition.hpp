// Partitions: an op of this family, or oneDNN's own.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// A partition of a checked op, with an id of its own.
partition_record claimed_partition(std::shared_ptr<const op_record> op, dnnl_fpmath_mode_t mode);

/// Makes oneDNN's partition of that op ours.
void claim(partition_record &p, std::shared_ptr<const op_record> op);

} // namespace dynquant::graph::core
