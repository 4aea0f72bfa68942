#include <limits>

#include "graph/refusal.hpp"
#include "oneapi/dnnl/dnnl.h"

namespace dynquant::graph::core {
namespace {

void check_stream(const op_record &op, dnnl_stream_t stream) {
    dnnl_engine_t engine = nullptr;
    dnnl_engine_kind_t kind = dnnl_any_engine;
    if (dnnl_stream_get_engine(stream, &engine) != dnnl_success || dnnl_engine_get_kind(engine, &kind) != dnnl_success)
        refuse(op, dnnl_invalid_arguments, "stream: expected one with an engine, given none");
    if (kind != dnnl_cpu) require_cpu(label(op) + ": stream", kind);
}

void check_count(const op_record &op, const char *list, size_t expected, size_t given) {
    if (given != expected)
        refuse(op, dnnl_invalid_arguments, list, ": expected ", expected, expected == 1 ? " tensor" : " tensors",
                ", as compile was given, given ", given);
}

} // namespace

dnnl_graph_logical_tensor_t query_logical_tensor(const compiled_partition_record &c, size_t id) {
    for (const auto *ports : {&c.op.inputs, &c.op.outputs})
        for (const auto &port : *ports)
            if (port.id == id) return port;
    // oneDNN has no error here either, but this tensor.
    dnnl_graph_logical_tensor_t none {};
    none.id = std::numeric_limits<size_t>::max();
    none.ndims = DNNL_GRAPH_UNKNOWN_NDIMS;
    none.layout_type = dnnl_graph_layout_type_any;
    return none;
}

operation_info get_info(const compiled_partition_record &c) {
    return c.prepared.info();
}

void execute(const compiled_partition_record &c, dnnl_stream_t stream, size_t input_count, void *const *inputs,
        size_t output_count, void *const *outputs) {
    const auto &at = c.at;
    check_stream(c.op, stream);
    check_count(c.op, "inputs", at.input_count, input_count);
    check_count(c.op, "outputs", at.output_count, output_count);
    const auto buffer = [&](size_t position) { return position == at.none ? nullptr : inputs[position]; };
    on_behalf_of(c.op, [&] { c.prepared.run({inputs[at.src], buffer(at.scales), buffer(at.zps), outputs[at.dst]}); });
}

void destroy(compiled_partition_record *c) noexcept {
    delete c;
}

} // namespace dynquant::graph::core
