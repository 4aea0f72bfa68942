#include "graph/backing_graph.hpp"

#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"

namespace dynquant::graph::core {
namespace {

template <typename Text>
[[noreturn]] void refuse_failure(dnnl_status_t status, const Text &what, const char *verb, const char *why) {
    throw refused(status, concat(what, ": oneDNN could not ", verb, " it (", why, ")"));
}

onednn_op create(const op_record &op, dnnl_graph_op_kind_t kind) {
    dnnl_graph_op_t handle = nullptr;
    require_success(onednn().op_create(&handle, op.id, kind, op.name.c_str()), label(op), "create");
    onednn_op created(handle);
    for (const auto &port : op.inputs)
        require_success(onednn().op_add_input(handle, &port), label(op), "add an input to");
    for (const auto &port : op.outputs)
        require_success(onednn().op_add_output(handle, &port), label(op), "add an output to");
    return created;
}

dnnl_status_t set_attribute(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, const attribute_value &value) {
    struct setter {
        dnnl_graph_op_t op;
        dnnl_graph_op_attr_t attr;

        dnnl_status_t operator()(const std::vector<std::int64_t> &list) const {
            return onednn().op_set_attr_s64(op, attr, list.data(), list.size());
        }
        dnnl_status_t operator()(const std::vector<float> &list) const {
            return onednn().op_set_attr_f32(op, attr, list.data(), list.size());
        }
        dnnl_status_t operator()(bool flag) const {
            const std::uint8_t byte = flag;
            return onednn().op_set_attr_bool(op, attr, &byte, 1);
        }
        dnnl_status_t operator()(const std::string &text) const {
            return onednn().op_set_attr_str(op, attr, text.c_str(), text.size());
        }
    };
    return std::visit(setter {op, attr}, value);
}

/// Makes the negative axis of an op of this family non-negative: oneDNN documents negative ones but refuses them.
op_record with_axis_from_front(op_record op) {
    const auto found = op.attributes.find(dnnl_graph_op_attr_axis);
    if (found == op.attributes.end() || !rank_known(op.inputs.front())) return op;
    if (auto *axis = std::get_if<std::vector<std::int64_t>>(&found->second))
        for (auto &value : *axis)
            if (value < 0) value += op.inputs.front().ndims;
    return op;
}

using count_function = dnnl_status_t (*)(const_dnnl_graph_partition_t, size_t *);
using list_function = dnnl_status_t (*)(const_dnnl_graph_partition_t, size_t, c_logical_tensor *);

std::vector<c_logical_tensor> ports_of(const onednn_partition &partition, count_function count, list_function list) {
    size_t size = 0;
    require_success(count(partition.get(), &size), "partition", "count the ports of");
    std::vector<c_logical_tensor> ports(size);
    if (size > 0) // oneDNN refuses an empty list, and End has no outputs
        require_success(list(partition.get(), size, ports.data()), "partition", "list the ports of");
    return ports;
}

} // namespace

onednn_op make_op(const op_record &op) {
    auto made = create(op, op.kind);
    for (const auto &[attr, value] : op.attributes)
        require_success(set_attribute(made.get(), attr, value), label(op), "set an attribute of");
    return made;
}

onednn_graph create_backing_graph(dnnl_fpmath_mode_t mode, bool apply_to_int) {
    const auto &f = onednn();
    dnnl_graph_graph_t handle = nullptr;
    require_success(f.graph_create_with_fpmath_mode(&handle, dnnl_cpu, mode), "graph", "create");
    onednn_graph graph(handle);
    if (f.graph_set_fpmath_mode)
        require_success(f.graph_set_fpmath_mode(handle, mode, apply_to_int), "graph", "set the fpmath mode of");
    return graph;
}

dnnl_status_t add_any_op(dnnl_graph_graph_t graph, const op_record &op) {
    return find_schema(op.kind) && !op.is_left_to_onednn ? add_op_or_wildcard(graph, op)
                                                         : onednn().add_op(graph, make_op(op).get());
}

dnnl_status_t add_op_or_wildcard(dnnl_graph_graph_t graph, const op_record &op) {
    if (onednn().add_op(graph, make_op(with_axis_from_front(op)).get()) == dnnl_success) return dnnl_success;
    return add_wildcard(graph, op);
}

dnnl_status_t add_wildcard(dnnl_graph_graph_t graph, const op_record &op) {
    return onednn().add_op(graph, create(op, dnnl_graph_op_wildcard).get());
}

std::vector<onednn_partition> partitions_of(dnnl_graph_graph_t graph) {
    const auto &f = onednn();
    size_t count = 0;
    require_success(f.graph_get_partition_num(graph, &count), "graph", "count the partitions of");
    std::vector<dnnl_graph_partition_t> handles(count);
    if (count > 0)
        require_success(f.graph_get_partitions(graph, count, handles.data()), "graph", "list the partitions of");
    return {handles.begin(), handles.end()};
}

std::vector<size_t> ops_of(const onednn_partition &partition) {
    const auto &f = onednn();
    size_t count = 0;
    require_success(f.partition_get_op_num(partition.get(), &count), "partition", "count the ops of");
    std::vector<size_t> ids(count);
    require_success(f.partition_get_ops(partition.get(), count, ids.data()), "partition", "list the ops of");
    return ids;
}

partition_record describe_partition(onednn_partition partition, dnnl_fpmath_mode_t mode) {
    const auto &f = onednn();
    partition_record described;
    described.mode = mode;
    require_success(f.partition_get_id(partition.get(), &described.id), "partition", "tell the id of");
    described.ops = ops_of(partition);
    described.inputs = ports_of(partition, f.partition_get_input_ports_num, f.partition_get_input_ports);
    described.outputs = ports_of(partition, f.partition_get_output_ports_num, f.partition_get_output_ports);
    std::uint8_t supported = 0;
    require_success(f.partition_is_supported(partition.get(), &supported), "partition", "tell the support of");
    described.supported = supported != 0;
    described.by_onednn = std::move(partition);
    return described;
}

void require_success(dnnl_status_t status, const std::string &what, const char *verb) {
    if (status != dnnl_success) refuse_failure(status, what, verb, onednn().status2str(status));
}

dnnl_status_t execute_by_onednn(const_dnnl_graph_compiled_partition_t compiled, dnnl_stream_t stream,
        std::span<const const_dnnl_graph_tensor_t> inputs, std::span<const const_dnnl_graph_tensor_t> outputs,
        const_dnnl_graph_tensor_t scratchpad, const char *what) {
    // oneDNN's parameters lack const, but it does not change the lists.
    auto *in = const_cast<const_dnnl_graph_tensor_t *>(inputs.data());
    auto *out = const_cast<const_dnnl_graph_tensor_t *>(outputs.data());
    const auto &f = onednn();
    try {
        // Where there is one, as 3.13's execute calls execute_v2 by name, which may be the drop-in's.
        return f.compiled_partition_execute_v2
                ? f.compiled_partition_execute_v2(compiled, stream, inputs.size(), in, outputs.size(), out, scratchpad)
                : f.compiled_partition_execute(compiled, stream, inputs.size(), in, outputs.size(), out);
    } catch (const dnnl::error &e) {
        refuse_failure(e.status, what, "execute", e.message);
    }
}

} // namespace dynquant::graph::core
