// The oneDNN graph behind ours: once a graph holds an op of another family, oneDNN partitions it first.
#pragma once

#include "graph/onednn.hpp"
#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Adds an op of this family to a oneDNN graph, its axis counted from the front. Where oneDNN refuses it (3.2 refuses
/// Quantize without zps, and types that it does not know) a Wildcard with the same ports takes its place: left out,
/// oneDNN would fuse around the hole and make a cycle.
dnnl_status_t add_to(dnnl_graph_graph_t graph, const op_record &op);

/// oneDNN's op that a record describes, with all that was set.
onednn_op make_op(const op_record &op);

/// What oneDNN tells of a partition, as a record. `op` is null: who claims it sets it.
partition_record describe_partition(onednn_partition partition, dnnl_fpmath_mode_t mode);

/// Throws, unless it is success, what oneDNN did not do: "graph: oneDNN could not finalize it (invalid_graph)".
void require_success(dnnl_status_t status, const std::string &what, const char *verb);

} // namespace dynquant::graph::core
