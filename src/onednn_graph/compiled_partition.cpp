#include "onednn_graph/compiled_partition.hpp"

#include "graph/backing_graph.hpp"
#include "graph/execution.hpp"

using namespace dynquant::onednn_graph;

namespace {

/// The handle to pass to oneDNN. Null for a claimed op that oneDNN did not compile; oneDNN refuses null.
const_dnnl_graph_compiled_partition_t onednn_handle(const_dnnl_graph_compiled_partition_t handle) {
    const auto *own = find_own(handle);
    return own ? own->by_onednn.get() : handle;
}

const core::compiled *find_compiled(const_dnnl_graph_compiled_partition_t handle) {
    const auto *own = find_own(handle);
    return own ? own->by_dynquant.get() : nullptr;
}

dnnl_status_t execute(const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad) {
    return guarded([&] {
        const auto *own = find_own(compiled_partition);
        if (!own)
            return core::execute_by_onednn(compiled_partition, stream, {inputs, num_inputs}, {outputs, num_outputs},
                    scratchpad, "a partition of other ops");
        if (own->by_dynquant) {
            const auto need = [&](const void *handle, const char *name) {
                if (!handle)
                    core::refuse(
                            own->by_dynquant->label(), dnnl_invalid_arguments, name, ": expected a handle, given null");
            };
            need(stream, "stream");
            need(inputs, "inputs");
            need(outputs, "outputs");
            own->by_dynquant->execute(stream, {inputs, num_inputs}, {outputs, num_outputs});
            return dnnl_success;
        }
        core::require_success(core::execute_by_onednn(own->by_onednn.get(), stream, {inputs, num_inputs},
                                      {outputs, num_outputs}, scratchpad, own->why_not_ours.c_str()),
                own->why_not_ours, "execute");
        return dnnl_success;
    });
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_compiled_partition_create(
        dnnl_graph_compiled_partition_t *compiled_partition, dnnl_graph_partition_t partition) {
    return guarded([&] {
        if (!compiled_partition || !claims().find(partition))
            return onednn().compiled_partition_create(compiled_partition, partition);
        *compiled_partition = reinterpret_cast<dnnl_graph_compiled_partition_t>(new own_compiled_partition);
        return dnnl_success;
    });
}

dnnl_status_t dnnl_graph_compiled_partition_destroy(dnnl_graph_compiled_partition_t compiled_partition) {
    return guarded([&] {
        auto *own = find_own(compiled_partition);
        if (!own) return onednn().compiled_partition_destroy(compiled_partition);
        delete own;
        return dnnl_success;
    });
}

dnnl_status_t dnnl_graph_compiled_partition_execute(const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs, const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs) {
    return execute(compiled_partition, stream, num_inputs, inputs, num_outputs, outputs, nullptr);
}

// Newer than oneDNN 3.2. Programs built with 3.13 call only this one.
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs, const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad) {
    return execute(compiled_partition, stream, num_inputs, inputs, num_outputs, outputs, scratchpad);
}

dnnl_status_t dnnl_graph_compiled_partition_query_logical_tensor(
        const_dnnl_graph_compiled_partition_t compiled_partition, size_t tid, dnnl_graph_logical_tensor_t *lt) {
    return guarded([&] {
        const auto *compiled = find_compiled(compiled_partition);
        if (!compiled || !lt)
            return onednn().compiled_partition_query_logical_tensor(onednn_handle(compiled_partition), tid, lt);
        const auto *port = compiled->find_port(tid);
        *lt = port ? *port : core::no_logical_tensor();
        return dnnl_success;
    });
}

dnnl_status_t dnnl_graph_compiled_partition_get_inplace_ports(const_dnnl_graph_compiled_partition_t compiled_partition,
        size_t *num_inplace_pairs, const dnnl_graph_inplace_pair_t **inplace_pairs) {
    return guarded([&] {
        if (!find_compiled(compiled_partition) || !num_inplace_pairs || !inplace_pairs)
            return onednn().compiled_partition_get_inplace_ports(
                    onednn_handle(compiled_partition), num_inplace_pairs, inplace_pairs);
        *num_inplace_pairs = 0;
        *inplace_pairs = nullptr;
        return dnnl_success;
    });
}

// Newer than oneDNN 3.2, whose partitions need no scratchpad.
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
        const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_graph_logical_tensor_t *lt) {
    return guarded([&] {
        const auto get = onednn().compiled_partition_get_scratchpad_logical_tensor;
        if (!find_compiled(compiled_partition) && get) return get(onednn_handle(compiled_partition), lt);
        if (!compiled_partition || !lt) return dnnl_invalid_arguments;
        *lt = core::no_scratchpad();
        return dnnl_success;
    });
}

} // extern "C"
