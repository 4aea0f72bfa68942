// Partitions that dynquant compiles.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Creates a partition with a new id.
partition_record make_claimed_partition(std::shared_ptr<const claimed> by_dynquant, dnnl_fpmath_mode_t mode);

/// Marks oneDNN's partition of these ops as dynquant's to compile.
void claim(partition_record &p, std::shared_ptr<const claimed> by_dynquant);

} // namespace dynquant::graph::core
