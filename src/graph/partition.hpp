// Partitions that are one op of this family.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Creates a partition of a checked op, with a new id.
partition_record make_claimed_partition(std::shared_ptr<const op_record> op, dnnl_fpmath_mode_t mode);

/// Marks oneDNN's partition of that op as dynquant's to compile.
void claim(partition_record &p, std::shared_ptr<const op_record> op);

} // namespace dynquant::graph::core
