#include "graph/backing_graph.hpp"
#include "graph/execution.hpp"
#include "graph/refusal.hpp"

namespace dynquant::graph::core {

dnnl_graph_logical_tensor_t query_logical_tensor(const compiled_partition_record &c, size_t id) {
    if (c.by_dynquant) {
        const auto *port = c.by_dynquant->find_port(id);
        return port ? *port : no_logical_tensor();
    }
    auto t = no_logical_tensor();
    require_success(
            onednn().compiled_partition_query_logical_tensor(c.by_onednn.get(), id, &t), c.label, "tell a port of");
    return t;
}

size_t get_inplace_ports(const compiled_partition_record &c, const dnnl_graph_inplace_pair_t *&pairs) {
    size_t count = 0;
    if (!c.by_dynquant)
        require_success(onednn().compiled_partition_get_inplace_ports(c.by_onednn.get(), &count, &pairs), c.label,
                "tell the in-place ports of");
    return count;
}

dnnl_graph_logical_tensor_t get_scratchpad_logical_tensor(const compiled_partition_record &c) {
    auto none = no_scratchpad();
    const auto get = onednn().compiled_partition_get_scratchpad_logical_tensor;
    if (!c.by_dynquant && get) require_success(get(c.by_onednn.get(), &none), c.label, "tell the scratchpad of");
    return none;
}

operation_info get_info(const compiled_partition_record &c) {
    return c.by_dynquant ? c.by_dynquant->info() : operation_info {kernel_kind::onednn, "graph"};
}

void execute(const compiled_partition_record &c, dnnl_stream_t stream, size_t input_count,
        const const_dnnl_graph_tensor_t *inputs, size_t output_count, const const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad) {
    if (c.by_dynquant) return c.by_dynquant->execute(stream, {inputs, input_count}, {outputs, output_count});
    require_success(execute_by_onednn(c.by_onednn.get(), stream, {inputs, input_count}, {outputs, output_count},
                            scratchpad, c.label.c_str()),
            c.label, "execute");
}

void destroy(compiled_partition_record *c) noexcept {
    delete c;
}

} // namespace dynquant::graph::core
