// The table of functions for libdynquant: the oneDNN that it is linked with.
#include <dlfcn.h>

#include "graph/onednn.hpp"

namespace dynquant::graph::core {
namespace {

/// Looks up a function that may be newer than oneDNN's headers at build time.
template <typename Function>
Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

onednn_functions linked() {
    onednn_functions f {};
    f.version = dnnl_version;
    f.status2str = dnnl_status2str;
    f.engine_kind2str = dnnl_engine_kind2str;
    f.get_default_fpmath_mode = dnnl_get_default_fpmath_mode;
    f.engine_get_kind = dnnl_engine_get_kind;
    f.stream_get_engine = dnnl_stream_get_engine;
    f.stream_wait = dnnl_stream_wait;
    f.tensor_get_data_handle = dnnl_graph_tensor_get_data_handle;
    f.op_create = dnnl_graph_op_create;
    f.op_destroy = dnnl_graph_op_destroy;
    f.op_get_id = dnnl_graph_op_get_id;
    f.op_add_input = dnnl_graph_op_add_input;
    f.op_add_output = dnnl_graph_op_add_output;
    f.op_set_attr_f32 = dnnl_graph_op_set_attr_f32;
    f.op_set_attr_bool = dnnl_graph_op_set_attr_bool;
    f.op_set_attr_s64 = dnnl_graph_op_set_attr_s64;
    f.op_set_attr_str = dnnl_graph_op_set_attr_str;
    f.graph_create = dnnl_graph_graph_create;
    f.graph_create_with_fpmath_mode = dnnl_graph_graph_create_with_fpmath_mode;
    f.graph_destroy = dnnl_graph_graph_destroy;
    f.add_op = dnnl_graph_add_op;
    f.graph_finalize = dnnl_graph_graph_finalize;
    f.graph_filter = dnnl_graph_graph_filter;
    f.graph_get_partition_num = dnnl_graph_graph_get_partition_num;
    f.graph_get_partitions = dnnl_graph_graph_get_partitions;
    f.partition_create_with_op = dnnl_graph_partition_create_with_op;
    f.partition_destroy = dnnl_graph_partition_destroy;
    f.partition_get_id = dnnl_graph_partition_get_id;
    f.partition_get_op_num = dnnl_graph_partition_get_op_num;
    f.partition_get_ops = dnnl_graph_partition_get_ops;
    f.partition_get_input_ports_num = dnnl_graph_partition_get_input_ports_num;
    f.partition_get_input_ports = dnnl_graph_partition_get_input_ports;
    f.partition_get_output_ports_num = dnnl_graph_partition_get_output_ports_num;
    f.partition_get_output_ports = dnnl_graph_partition_get_output_ports;
    f.partition_is_supported = dnnl_graph_partition_is_supported;
    f.partition_compile = dnnl_graph_partition_compile;
    f.compiled_partition_create = dnnl_graph_compiled_partition_create;
    f.compiled_partition_destroy = dnnl_graph_compiled_partition_destroy;
    f.compiled_partition_query_logical_tensor = dnnl_graph_compiled_partition_query_logical_tensor;
    f.compiled_partition_get_inplace_ports = dnnl_graph_compiled_partition_get_inplace_ports;
    f.compiled_partition_execute = dnnl_graph_compiled_partition_execute;
    f.compiled_partition_execute_v2 = find<onednn_functions::execute_v2>("dnnl_graph_compiled_partition_execute_v2");
    f.compiled_partition_get_scratchpad_logical_tensor =
            find<decltype(f.compiled_partition_get_scratchpad_logical_tensor)>(
                    "dnnl_graph_compiled_partition_get_scratchpad_logical_tensor");
    f.graph_set_fpmath_mode = find<decltype(f.graph_set_fpmath_mode)>("dnnl_graph_graph_set_fpmath_mode");
    return f;
}

} // namespace

const onednn_functions &onednn() {
    static const onednn_functions functions = linked();
    return functions;
}

} // namespace dynquant::graph::core
