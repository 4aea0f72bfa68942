// Partitions of one op.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// A partition of a checked op, with an id of its own.
partition_record *create_partition(std::shared_ptr<const op_record> op, dnnl_fpmath_mode_t mode);

} // namespace dynquant::graph::core
