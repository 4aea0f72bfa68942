// What compiling and executing have in common, whether one op is claimed or several.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Replaces a port by the logical tensor with its id in a list given to compile; returns the position in the list.
size_t substitute(
        const op_record &op, const char *name, c_logical_tensor &port, const char *list_name, logical_tensors list);

/// Sets the final shape of an output.
void set_final_shape(c_logical_tensor &t, const dims &extents, const dims &strides);

/// The lengths of the lists of compile, or of execute.
struct tensor_counts {
    size_t inputs, outputs;
};

/// Precedes an execution; what: the label of what is executed. Throws unless the stream is a CPU's and there are as
/// many tensors as expected. Waits for earlier work on the stream, which may still write the inputs.
/// Returns onednn(), whose call takes 12 instructions.
const onednn_functions &begin_execution(
        const std::string &what, dnnl_stream_t stream, tensor_counts expected, tensor_counts given);

/// The buffer of a tensor; null if there is no tensor.
inline void *buffer_of(const onednn_functions &f, const_dnnl_graph_tensor_t tensor) {
    void *buffer = nullptr;
    if (tensor) f.tensor_get_data_handle(tensor, &buffer);
    return buffer;
}

/// Uses OpenMP's threads if oneDNN does: a second thread pool would oversubscribe the processors.
void share_threads_with_onednn();

/// oneDNN's answer for an id that a compiled partition does not have.
c_logical_tensor no_logical_tensor();

/// The scratchpad of an op that needs none.
c_logical_tensor no_scratchpad();

} // namespace dynquant::graph::core
