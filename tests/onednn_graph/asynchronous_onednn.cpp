// Wraps the installed oneDNN as one with the CPU runtime whose number CPU_RUNTIME gives in the environment. With SYCL
// or a thread pool executions are deferred until the program waits for its stream. It also accepts graphs for a GPU.
#include <cstdlib>
#include <functional>
#include <vector>

#include <dlfcn.h>

#include "oneapi/dnnl/dnnl_graph.h"

namespace {

template <typename Function>
Function *installed(Function *, const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

unsigned runtime() {
    const char *number = std::getenv("CPU_RUNTIME");
    return number ? static_cast<unsigned>(std::atoi(number)) : DNNL_RUNTIME_TBB;
}

std::vector<std::function<dnnl_status_t()>> executions; // of the only stream

/// Executes now, or defers.
dnnl_status_t submit(const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs) {
    std::vector<const_dnnl_graph_tensor_t> in(inputs, inputs + num_inputs), out(outputs, outputs + num_outputs);
    static const auto f = installed(dnnl_graph_compiled_partition_execute, "dnnl_graph_compiled_partition_execute");
    auto execute = [=]() mutable {
        return f(compiled_partition, stream, in.size(), in.data(), out.size(), out.data());
    };
    if (runtime() != DNNL_RUNTIME_THREADPOOL && runtime() != DNNL_RUNTIME_SYCL) return execute();
    executions.emplace_back(execute);
    return dnnl_success;
}

} // namespace

extern "C" {

[[gnu::visibility("default")]] const dnnl_version_t *dnnl_version() {
    static const dnnl_version_t version = [] {
        auto v = *installed(dnnl_version, "dnnl_version")();
        v.cpu_runtime = runtime();
        return v;
    }();
    return &version;
}

[[gnu::visibility("default")]] dnnl_status_t dnnl_graph_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs) {
    return submit(compiled_partition, stream, num_inputs, inputs, num_outputs, outputs);
}

[[gnu::visibility("default")]] dnnl_status_t dnnl_graph_sycl_interop_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs, const void *,
        void *) {
    return submit(compiled_partition, stream, num_inputs, inputs, num_outputs, outputs);
}

[[gnu::visibility("default")]] dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream) {
    for (const auto &execute : executions)
        if (const auto status = execute(); status != dnnl_success) return status;
    executions.clear();
    return installed(dnnl_stream_wait, "dnnl_stream_wait")(stream);
}

[[gnu::visibility("default")]] dnnl_status_t dnnl_graph_graph_create(dnnl_graph_graph_t *graph, dnnl_engine_kind_t) {
    return installed(dnnl_graph_graph_create, "dnnl_graph_graph_create")(graph, dnnl_cpu);
}

} // extern "C"
