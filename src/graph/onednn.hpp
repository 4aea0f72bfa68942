// The C functions of oneDNN that this folder calls, always through one table, never by name. libdynquant fills it with
// the functions that it is linked with (onednn_linked.cpp). The drop-in fills it with the functions after its own in
// the search order (src/onednn_graph/next.cpp): a call by name would return to the drop-in.
#pragma once

#include <memory>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_debug.h"
#include "oneapi/dnnl/dnnl_graph.h"

namespace dynquant::graph::core {

/// Functions of oneDNN 3.2 are never null. Newer ones, from execute_v2 on, may be.
struct onednn_functions {
#define DYNQUANT_ONEDNN(name, function) decltype(&function) name;
#define DYNQUANT_NEWER_ONEDNN(name, function)
#include "graph/onednn_functions.inc"
#undef DYNQUANT_NEWER_ONEDNN
#undef DYNQUANT_ONEDNN

    using execute_v2 = dnnl_status_t (*)(const_dnnl_graph_compiled_partition_t, dnnl_stream_t, size_t,
            const_dnnl_graph_tensor_t *, size_t, const_dnnl_graph_tensor_t *, const_dnnl_graph_tensor_t scratchpad);
    execute_v2 compiled_partition_execute_v2;
    dnnl_status_t (*compiled_partition_get_scratchpad_logical_tensor)(
            const_dnnl_graph_compiled_partition_t, dnnl_graph_logical_tensor_t *);
    dnnl_status_t (*graph_set_fpmath_mode)(dnnl_graph_graph_t, dnnl_fpmath_mode_t, int apply_to_int);
    dnnl_status_t (*set_constant_tensor_cache_capacity)(dnnl_engine_kind_t, size_t mebibytes);
};

const onednn_functions &onednn();

/// Whether execute on a CPU stream of that runtime returns after the computation.
inline bool is_synchronous(unsigned cpu_runtime) {
    return cpu_runtime == DNNL_RUNTIME_SEQ || cpu_runtime == DNNL_RUNTIME_OMP || cpu_runtime == DNNL_RUNTIME_TBB;
}

/// Destroys a handle of oneDNN with a function of the table.
template <auto destroy>
struct onednn_destroyer {
    template <typename Handle>
    void operator()(Handle *handle) const {
        (onednn().*destroy)(handle);
    }
};

template <typename Handle, auto destroy>
using onednn_handle = std::unique_ptr<std::remove_pointer_t<Handle>, onednn_destroyer<destroy>>;

using onednn_op = onednn_handle<dnnl_graph_op_t, &onednn_functions::op_destroy>;
using onednn_graph = onednn_handle<dnnl_graph_graph_t, &onednn_functions::graph_destroy>;
using onednn_partition = onednn_handle<dnnl_graph_partition_t, &onednn_functions::partition_destroy>;
using onednn_compiled_partition =
        onednn_handle<dnnl_graph_compiled_partition_t, &onednn_functions::compiled_partition_destroy>;

} // namespace dynquant::graph::core
