#include "onednn_graph/next.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>

#include "quantization/environment.hpp"
#include "quantization/text.hpp"

namespace dynquant::onednn_graph {
namespace {

/// Finds the functions after this library's own in the search order, else those of a libdnnl that was loaded with local
/// scope, for instance as a plug-in's dependency.
class next_library {
  public:
    next_library()
        : loaded_(dlopen("libdnnl.so.3", RTLD_LAZY | RTLD_NOLOAD)) {}

    /// Sets `function` and returns whether it was found.
    template <typename Function>
    bool find(Function &function, const char *name) const {
        void *found = dlsym(RTLD_NEXT, name);
        if (!found && loaded_) found = dlsym(loaded_, name);
        function = reinterpret_cast<Function>(found);
        return found != nullptr;
    }

  private:
    void *loaded_;
};

struct next_functions : core::onednn_functions {
    next_functions() {
        const next_library next;
        bool all = true;
        const auto need = [&](auto &function, const char *name) { all &= next.find(function, name); };
        need(version, "dnnl_version");
        need(status2str, "dnnl_status2str");
        need(engine_kind2str, "dnnl_engine_kind2str");
        need(get_default_fpmath_mode, "dnnl_get_default_fpmath_mode");
        need(engine_get_kind, "dnnl_engine_get_kind");
        need(stream_get_engine, "dnnl_stream_get_engine");
        need(stream_wait, "dnnl_stream_wait");
        need(tensor_get_data_handle, "dnnl_graph_tensor_get_data_handle");
        need(op_get_id, "dnnl_graph_op_get_id");
        need(op_create, "dnnl_graph_op_create");
        need(op_destroy, "dnnl_graph_op_destroy");
        need(op_add_input, "dnnl_graph_op_add_input");
        need(op_add_output, "dnnl_graph_op_add_output");
        need(op_set_attr_f32, "dnnl_graph_op_set_attr_f32");
        need(op_set_attr_bool, "dnnl_graph_op_set_attr_bool");
        need(op_set_attr_s64, "dnnl_graph_op_set_attr_s64");
        need(op_set_attr_str, "dnnl_graph_op_set_attr_str");
        need(graph_create, "dnnl_graph_graph_create");
        need(graph_create_with_fpmath_mode, "dnnl_graph_graph_create_with_fpmath_mode");
        need(graph_destroy, "dnnl_graph_graph_destroy");
        need(add_op, "dnnl_graph_add_op");
        need(graph_finalize, "dnnl_graph_graph_finalize");
        need(graph_filter, "dnnl_graph_graph_filter");
        need(graph_get_partition_num, "dnnl_graph_graph_get_partition_num");
        need(graph_get_partitions, "dnnl_graph_graph_get_partitions");
        need(partition_create_with_op, "dnnl_graph_partition_create_with_op");
        need(partition_destroy, "dnnl_graph_partition_destroy");
        need(partition_get_id, "dnnl_graph_partition_get_id");
        need(partition_get_op_num, "dnnl_graph_partition_get_op_num");
        need(partition_get_ops, "dnnl_graph_partition_get_ops");
        need(partition_get_input_ports_num, "dnnl_graph_partition_get_input_ports_num");
        need(partition_get_input_ports, "dnnl_graph_partition_get_input_ports");
        need(partition_get_output_ports_num, "dnnl_graph_partition_get_output_ports_num");
        need(partition_get_output_ports, "dnnl_graph_partition_get_output_ports");
        need(partition_is_supported, "dnnl_graph_partition_is_supported");
        need(partition_compile, "dnnl_graph_partition_compile");
        need(compiled_partition_create, "dnnl_graph_compiled_partition_create");
        need(compiled_partition_destroy, "dnnl_graph_compiled_partition_destroy");
        need(compiled_partition_query_logical_tensor, "dnnl_graph_compiled_partition_query_logical_tensor");
        need(compiled_partition_get_inplace_ports, "dnnl_graph_compiled_partition_get_inplace_ports");
        need(compiled_partition_execute, "dnnl_graph_compiled_partition_execute");
        complete = all;
        next.find(compiled_partition_execute_v2, "dnnl_graph_compiled_partition_execute_v2");
        next.find(compiled_partition_get_scratchpad_logical_tensor,
                "dnnl_graph_compiled_partition_get_scratchpad_logical_tensor");
        next.find(graph_set_fpmath_mode, "dnnl_graph_graph_set_fpmath_mode");
    }

    bool complete;
};

const next_functions &next() {
    static const next_functions functions;
    return functions;
}

/// "THREADPOOL", as in DNNL_RUNTIME_THREADPOOL.
std::string name_of_runtime(unsigned runtime) {
    switch (runtime) {
        case DNNL_RUNTIME_NONE: return "NONE";
        case DNNL_RUNTIME_SEQ: return "SEQ";
        case DNNL_RUNTIME_OMP: return "OMP";
        case DNNL_RUNTIME_TBB: return "TBB";
        case DNNL_RUNTIME_THREADPOOL: return "THREADPOOL";
        case DNNL_RUNTIME_SYCL: return "SYCL";
        default: return concat("number ", runtime);
    }
}

} // namespace

bool has_onednn() {
    if (next().complete) [[likely]]
        return true;
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    if (told.test_and_set()) return false;
    std::fputs(
            "dynquant: expected oneDNN's library (libdnnl 3.2 or newer, with Graph) behind libdynquant_onednn_graph, "
            "given none.\n"
            "dynquant: link it before libdnnl (-ldynquant_onednn_graph -ldnnl), or start the program with "
            "LD_PRELOAD=libdynquant_onednn_graph.so; a oneDNN that is linked statically cannot be extended.\n",
            stderr);
    return false;
}

void tell_wrong_environment() {
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    try {
        environment::kernel();
        environment::max_isa();
    } catch (const error &e) {
        if (!told.test_and_set())
            std::fprintf(stderr, "dynquant: %s; the drop-in leaves its ops to oneDNN\n", e.what());
    }
}

// Earlier work on an asynchronous stream may still write the inputs. This library computes at once and would not wait
// for it, nor for the events that a SYCL program passes to execute.
std::string explain_unsupported_runtime() {
    const auto runtime = onednn().version()->cpu_runtime;
    if (core::is_synchronous(runtime)) return "";
    return concat("oneDNN's CPU runtime: expected SEQ, OMP or TBB, given ", name_of_runtime(runtime));
}

} // namespace dynquant::onednn_graph

namespace dynquant::graph::core {

const onednn_functions &onednn() {
    return dynquant::onednn_graph::next();
}

} // namespace dynquant::graph::core
