// Stands before oneDNN and refuses to compile. Of partitions that dynquant refuses, oneDNN 3.2 never ends compiling
// some, and writes beyond the memory of others.
#include "oneapi/dnnl/dnnl_graph.h"

extern "C" dnnl_status_t dnnl_graph_partition_compile(dnnl_graph_partition_t, dnnl_graph_compiled_partition_t, size_t,
        const dnnl_graph_logical_tensor_t **, size_t, const dnnl_graph_logical_tensor_t **, dnnl_engine_t) {
    return dnnl_unimplemented;
}
