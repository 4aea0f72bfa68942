// Stands before oneDNN and refuses to compile: oneDNN 3.2 compiles some of the partitions that dynquant refuses without
// end, others beyond their memory.
#include "oneapi/dnnl/dnnl_graph.h"

extern "C" dnnl_status_t dnnl_graph_partition_compile(dnnl_graph_partition_t, dnnl_graph_compiled_partition_t, size_t,
        const dnnl_graph_logical_tensor_t **, size_t, const dnnl_graph_logical_tensor_t **, dnnl_engine_t) {
    return dnnl_unimplemented;
}
