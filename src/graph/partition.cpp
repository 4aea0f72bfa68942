#include "graph/partition.hpp"

#include <algorithm>
#include <atomic>
#include <span>

#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/lowering.hpp"
#include "graph/refusal.hpp"
#include "oneapi/dnnl/dnnl_debug.h"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

using logical_tensors = std::span<const c_logical_tensor>;

/// Replaces a port by the logical tensor of its id in a list given to compile; returns its position there.
size_t substitute(
        const op_record &op, const char *name, c_logical_tensor &port, const char *list_name, logical_tensors list) {
    const auto given = std::ranges::find(list, port.id, &c_logical_tensor::id);
    if (given == list.end()) {
        std::string ids;
        for (const auto &t : list)
            ids += concat(ids.empty() ? "" : ", ", t.id);
        refuse(op, dnnl_invalid_arguments, name, ": expected logical tensor ", port.id, " among the ", list_name,
                " of compile, given ", ids.empty() ? "none" : ids);
    }
    if (port.data_type != dnnl_data_type_undef && given->data_type != port.data_type)
        refuse(op, dnnl_invalid_data_type, name, ": expected data type ", dnnl_dt2str(port.data_type),
                ", as the op has it, given ", dnnl_dt2str(given->data_type));
    port = *given;
    return static_cast<size_t>(given - list.begin());
}

/// Replaces all ports of the op.
compiled_partition_record::positions substitute(op_record &op, logical_tensors inputs, logical_tensors outputs) {
    const auto &schema = *find_schema(op.kind);
    size_t at[] = {0, compiled_partition_record::positions::none, compiled_partition_record::positions::none};
    for (size_t i = 0; i < op.inputs.size(); ++i)
        at[i] = substitute(op, schema.inputs[i].name, op.inputs[i], "inputs", inputs);
    const auto dst = substitute(op, schema.output.name, op.outputs.front(), "outputs", outputs);
    return {inputs.size(), outputs.size(), at[input::src], at[input::scales], at[input::zps], dst};
}

/// Makes the final dims and strides of a statement's tensor those of the logical tensor.
void settle(c_logical_tensor &t, const dynquant::tensor &final) {
    t.ndims = static_cast<int>(final.dims.size());
    t.layout_type = dnnl_graph_layout_type_strided;
    std::ranges::copy(final.dims, t.dims);
    std::ranges::copy(dynquant::strides_of(final), t.layout.strides);
}

} // namespace

partition_record *create_partition(std::shared_ptr<const op_record> op, dnnl_fpmath_mode_t mode) {
    static std::atomic<size_t> next_id {0};
    return new partition_record {next_id++, std::move(op), mode};
}

partition_record *create_partition(const op_record &op, dnnl_engine_kind_t kind) {
    // As oneDNN does: the partition of a graph of this op alone.
    const std::unique_ptr<graph_record> g(on_behalf_of(op, [&] { return create_graph(kind); }));
    add_op(*g, op);
    finalize(*g);
    return get_partition(*g, 0);
}

size_t get_id(const partition_record &p) {
    return p.id;
}

size_t get_op_id(const partition_record &p) {
    return p.op->id;
}

dnnl_engine_kind_t get_engine_kind(const partition_record &) {
    return dnnl_cpu;
}

size_t get_inputs(const partition_record &p, const dnnl_graph_logical_tensor_t *&ports) {
    ports = p.op->inputs.data();
    return p.op->inputs.size();
}

size_t get_outputs(const partition_record &p, const dnnl_graph_logical_tensor_t *&ports) {
    ports = p.op->outputs.data();
    return p.op->outputs.size();
}

compiled_partition_record *compile(const partition_record &p, size_t input_count,
        const dnnl_graph_logical_tensor_t *inputs, size_t output_count, const dnnl_graph_logical_tensor_t *outputs,
        dnnl_engine_kind_t kind) {
    auto op = *p.op;
    require_cpu(label(op), kind);
    const auto at = substitute(op, {inputs, input_count}, {outputs, output_count});
    check(op, stage::compile);

    const auto q = lower(op, p.mode == dnnl_fpmath_mode_any ? numerics::any : numerics::strict);
    settle(op.outputs.front(), q.dst);
    options opts;
    opts.name = label(op);
    auto prepared = on_behalf_of(op, [&] { return prepare(q, opts); });
    return new compiled_partition_record {std::move(op), at, std::move(prepared)};
}

void destroy(partition_record *p) noexcept {
    delete p;
}

} // namespace dynquant::graph::core
