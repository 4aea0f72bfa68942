// Wraps the installed oneDNN like 3.13, whose execute calls execute_v2 by name. The drop-in defines execute_v2 as well.
#include <dlfcn.h>

#include "oneapi/dnnl/dnnl_graph.h"

extern "C" {

[[gnu::visibility("default")]] dnnl_status_t dnnl_graph_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t) {
    const auto installed = reinterpret_cast<decltype(&dnnl_graph_compiled_partition_execute)>(
            dlsym(RTLD_NEXT, "dnnl_graph_compiled_partition_execute"));
    return installed(compiled_partition, stream, num_inputs, inputs, num_outputs, outputs);
}

[[gnu::visibility("default")]] dnnl_status_t dnnl_graph_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs) {
    return dnnl_graph_compiled_partition_execute_v2(
            compiled_partition, stream, num_inputs, inputs, num_outputs, outputs, nullptr);
}

} // extern "C"
