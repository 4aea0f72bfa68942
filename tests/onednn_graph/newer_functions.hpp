// oneDNN's functions that are newer than the header of 3.2, and that the drop-in defines beside each oneDNN.
#pragma once

#include "oneapi/dnnl/dnnl_graph.h"

extern "C" {
dnnl_status_t dnnl_graph_compiled_partition_execute_v2(const_dnnl_graph_compiled_partition_t, dnnl_stream_t, size_t,
        const_dnnl_graph_tensor_t *, size_t, const_dnnl_graph_tensor_t *, const_dnnl_graph_tensor_t);
dnnl_status_t dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
        const_dnnl_graph_compiled_partition_t, dnnl_graph_logical_tensor_t *);
dnnl_status_t dnnl_graph_graph_set_fpmath_mode(dnnl_graph_graph_t, dnnl_fpmath_mode_t, int);
dnnl_status_t dnnl_graph_set_constant_tensor_cache_capacity(dnnl_engine_kind_t, size_t);
}
