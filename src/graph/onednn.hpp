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
    decltype(&dnnl_version) version;
    decltype(&dnnl_status2str) status2str;
    decltype(&dnnl_engine_kind2str) engine_kind2str;
    decltype(&dnnl_get_default_fpmath_mode) get_default_fpmath_mode;
    decltype(&dnnl_engine_get_kind) engine_get_kind;
    decltype(&dnnl_stream_get_engine) stream_get_engine;
    decltype(&dnnl_stream_wait) stream_wait;
    decltype(&dnnl_graph_tensor_get_data_handle) tensor_get_data_handle;

    decltype(&dnnl_graph_op_create) op_create;
    decltype(&dnnl_graph_op_destroy) op_destroy;
    decltype(&dnnl_graph_op_get_id) op_get_id;
    decltype(&dnnl_graph_op_add_input) op_add_input;
    decltype(&dnnl_graph_op_add_output) op_add_output;
    decltype(&dnnl_graph_op_set_attr_f32) op_set_attr_f32;
    decltype(&dnnl_graph_op_set_attr_bool) op_set_attr_bool;
    decltype(&dnnl_graph_op_set_attr_s64) op_set_attr_s64;
    decltype(&dnnl_graph_op_set_attr_str) op_set_attr_str;

    decltype(&dnnl_graph_graph_create) graph_create;
    decltype(&dnnl_graph_graph_create_with_fpmath_mode) graph_create_with_fpmath_mode;
    decltype(&dnnl_graph_graph_destroy) graph_destroy;
    decltype(&dnnl_graph_add_op) add_op;
    decltype(&dnnl_graph_graph_finalize) graph_finalize;
    decltype(&dnnl_graph_graph_filter) graph_filter;
    decltype(&dnnl_graph_graph_get_partition_num) graph_get_partition_num;
    decltype(&dnnl_graph_graph_get_partitions) graph_get_partitions;

    decltype(&dnnl_graph_partition_create_with_op) partition_create_with_op;
    decltype(&dnnl_graph_partition_destroy) partition_destroy;
    decltype(&dnnl_graph_partition_get_id) partition_get_id;
    decltype(&dnnl_graph_partition_get_op_num) partition_get_op_num;
    decltype(&dnnl_graph_partition_get_ops) partition_get_ops;
    decltype(&dnnl_graph_partition_get_input_ports_num) partition_get_input_ports_num;
    decltype(&dnnl_graph_partition_get_input_ports) partition_get_input_ports;
    decltype(&dnnl_graph_partition_get_output_ports_num) partition_get_output_ports_num;
    decltype(&dnnl_graph_partition_get_output_ports) partition_get_output_ports;
    decltype(&dnnl_graph_partition_is_supported) partition_is_supported;
    decltype(&dnnl_graph_partition_compile) partition_compile;

    decltype(&dnnl_graph_compiled_partition_create) compiled_partition_create;
    decltype(&dnnl_graph_compiled_partition_destroy) compiled_partition_destroy;
    decltype(&dnnl_graph_compiled_partition_query_logical_tensor) compiled_partition_query_logical_tensor;
    decltype(&dnnl_graph_compiled_partition_get_inplace_ports) compiled_partition_get_inplace_ports;
    decltype(&dnnl_graph_compiled_partition_execute) compiled_partition_execute;

    using execute_v2 = dnnl_status_t (*)(const_dnnl_graph_compiled_partition_t, dnnl_stream_t, size_t,
            const_dnnl_graph_tensor_t *, size_t, const_dnnl_graph_tensor_t *, const_dnnl_graph_tensor_t scratchpad);
    execute_v2 compiled_partition_execute_v2;
    dnnl_status_t (*compiled_partition_get_scratchpad_logical_tensor)(
            const_dnnl_graph_compiled_partition_t, dnnl_graph_logical_tensor_t *);
    dnnl_status_t (*graph_set_fpmath_mode)(dnnl_graph_graph_t, dnnl_fpmath_mode_t, int apply_to_int);
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
