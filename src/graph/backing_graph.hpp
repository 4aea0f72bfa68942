// The oneDNN graph behind a graph_record: once that has an op of another family, oneDNN does the partitioning.
#pragma once

#include <span>

#include "graph/onednn.hpp"
#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Creates an empty oneDNN graph of the CPU with these modes.
onednn_graph create_backing_graph(dnnl_fpmath_mode_t mode, bool apply_to_int);

/// Adds an op of any family.
dnnl_status_t add_any_op(dnnl_graph_graph_t graph, const op_record &op);

/// Adds an op of this family to a oneDNN graph, with a non-negative axis. If oneDNN refuses it (3.2 refuses Quantize
/// without zps, and types that it does not know), adds a Wildcard with the same ports: without it oneDNN would fuse
/// around the gap and create a cycle.
dnnl_status_t add_op_or_wildcard(dnnl_graph_graph_t graph, const op_record &op);

/// Adds an op that oneDNN knows nothing of, with the ports of `op`.
dnnl_status_t add_wildcard(dnnl_graph_graph_t graph, const op_record &op);

/// Creates oneDNN's op from a record, with all attributes.
onednn_op make_op(const op_record &op);

/// The partitions of a filtered graph, and the ids of the ops of one.
std::vector<onednn_partition> partitions_of(dnnl_graph_graph_t graph);
std::vector<size_t> ops_of(const onednn_partition &partition);

/// The record of a oneDNN partition. Its `by_dynquant` is null until claim() sets it.
partition_record describe_partition(onednn_partition partition, dnnl_fpmath_mode_t mode);

/// Throws unless status is success: "graph: oneDNN could not finalize it (invalid_graph)", where `what` is "graph" and
/// `verb` "finalize".
void require_success(dnnl_status_t status, const std::string &what, const char *verb);

/// oneDNN's status for what it compiled. Its execute may also throw (3.2: "could not execute a primitive"); then this
/// throws as require_success does.
dnnl_status_t execute_by_onednn(const_dnnl_graph_compiled_partition_t compiled, dnnl_stream_t stream,
        std::span<const const_dnnl_graph_tensor_t> inputs, std::span<const const_dnnl_graph_tensor_t> outputs,
        const_dnnl_graph_tensor_t scratchpad, const char *what);

} // namespace dynquant::graph::core
