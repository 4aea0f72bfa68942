// The graph: checked snapshots of ops, connected by the ids of logical tensors.
#include <algorithm>

#include "graph/backing_graph.hpp"
#include "graph/check.hpp"
#include "graph/compiled_op.hpp"
#include "graph/dependencies.hpp"
#include "graph/layer/claims.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/partition.hpp"
#include "graph/refusal.hpp"
#include "graph/report.hpp"

namespace dynquant::graph::core {
namespace {

bool is_in_family(const op_record &op) {
    return find_schema(op.kind) != nullptr;
}

std::vector<port> ports_of(const op_record &op) {
    const auto *schema = find_schema(op);
    std::vector<port> ports;
    for (size_t i = 0; i < op.inputs.size(); ++i)
        ports.push_back({&op, schema ? schema->inputs[i].name : concat("input ", i), &op.inputs[i], false});
    for (size_t i = 0; i < op.outputs.size(); ++i)
        ports.push_back({&op, schema ? schema->outputs[i].name : concat("output ", i), &op.outputs[i], true});
    return ports;
}

/// Throws unless two ports with one logical tensor id can be one tensor.
void check_same_tensor(const port &added, const port &present) {
    if (!is_in_family(*added.op) && !is_in_family(*present.op)) return; // oneDNN checks them
    const auto id = added.described->id;
    const auto described_by = [&] { return concat(present.name, " of ", label(*present.op)); };
    if (added.is_output && present.op == added.op)
        refuse(*added.op, dnnl_invalid_graph, added.name, ": expected a logical tensor of its own, given ", id,
                ", which is ", present.name, " too");
    if (added.is_output && present.is_output)
        refuse(*added.op, dnnl_invalid_graph, added.name, ": expected a logical tensor that no other op writes, given ",
                id, ", which is ", described_by());
    if (const auto wrong = find_contradiction(*present.described, *added.described))
        refuse(*added.op, wrong->status, added.name, ": expected ", wrong->what, ' ', wrong->first,
                ", as logical tensor ", id, " has in ", described_by(), ", given ", wrong->second);
}

void check_connections(const graph_record &g, const std::vector<port> &added) {
    for (auto port = added.begin(); port != added.end(); ++port) {
        const auto id = port->described->id;
        for (auto earlier = added.begin(); earlier != port; ++earlier)
            if (earlier->described->id == id) check_same_tensor(*port, *earlier);
        const auto [first, last] = g.ports.equal_range(id);
        for (auto present = first; present != last; ++present)
            check_same_tensor(*port, present->second);
    }
}

/// A oneDNN graph of the ops of g.
onednn_graph make_onednn_graph(const graph_record &g, dnnl_fpmath_mode_t mode, bool apply_to_int) {
    auto graph = create_backing_graph(mode, apply_to_int);
    for (const auto &op : g.ops)
        require_success(add_any_op(graph.get(), *op), label(*op), "add");
    if (g.finalized) require_success(onednn().graph_finalize(graph.get()), "graph", "finalize");
    return graph;
}

/// Partitions with oneDNN around the layers that dynquant takes, then claims each partition that is one op of this
/// family.
void find_partitions_of_onednn(graph_record &g, dnnl_graph_partition_policy_t policy) {
    require_success(onednn().graph_filter(g.by_onednn.get(), policy), "graph", "partition");
    const auto around = take_layers(g.by_onednn.get(), g.ops, {g.mode, g.apply_to_int, policy});
    for (auto &[partition, layer] : partitions_of(g.by_onednn.get(), around)) {
        auto described = describe_partition(std::move(partition), g.mode);
        const auto op = std::ranges::find(g.ops, described.ops.front(), [](const auto &o) { return o->id; });
        if (layer)
            claim(described, layer);
        else if (described.ops.size() == 1 && op != g.ops.end() && is_in_family(**op))
            claim(described, claim_op(*op));
        g.found.push_back(std::move(described));
    }
}

void add(graph_record &g, const op_record &op) {
    if (g.finalized) refuse(op, dnnl_invalid_graph, "expected a graph that is not finalized, given a finalized one");
    if (is_in_family(op)) check(op, stage::add_op);
    const auto same_id = std::ranges::find(g.ops, op.id, [](const auto &present) { return present->id; });
    if (same_id != g.ops.end())
        refuse(op, dnnl_invalid_graph, "id: expected one that no other op of the graph has, given that of ",
                label(**same_id));
    const auto snapshot = std::make_shared<const op_record>(op);
    const auto ports = ports_of(*snapshot);
    check_connections(g, ports);
    if (!g.by_onednn && !is_in_family(op)) g.by_onednn = make_onednn_graph(g, g.mode, g.apply_to_int);
    if (g.by_onednn) require_success(add_any_op(g.by_onednn.get(), op), label(op), "add");

    g.ops.push_back(snapshot);
    for (const auto &port : ports)
        g.ports.emplace(port.described->id, port);
}

template <typename Enum>
[[noreturn]] void refuse_number(const char *expected, Enum given) {
    throw refused(
            dnnl_invalid_arguments, concat("graph: expected ", expected, ", given number ", static_cast<int>(given)));
}

dnnl_fpmath_mode_t require_known(dnnl_fpmath_mode_t mode) {
    switch (mode) {
        case dnnl_fpmath_mode_strict:
        case dnnl_fpmath_mode_bf16:
        case dnnl_fpmath_mode_f16:
        case dnnl_fpmath_mode_any:
        case dnnl_fpmath_mode_tf32: return mode;
    }
    refuse_number("fpmath mode strict, bf16, f16, any or tf32", mode);
}

} // namespace

graph_record *create_graph(dnnl_engine_kind_t kind) {
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    require_success(onednn().get_default_fpmath_mode(&mode), "graph", "tell the default fpmath mode of");
    return create_graph(kind, mode);
}

graph_record *create_graph(dnnl_engine_kind_t kind, dnnl_fpmath_mode_t mode) {
    require_cpu("graph", kind);
    return new graph_record {require_known(mode)};
}

void set_fpmath_mode(graph_record &g, dnnl_fpmath_mode_t mode, bool apply_to_int) {
    require_known(mode);
    if (g.by_onednn) g.by_onednn = make_onednn_graph(g, mode, apply_to_int); // 3.2 takes the mode at creation only
    g.mode = mode;
    g.apply_to_int = apply_to_int;
}

void get_fpmath_mode(const graph_record &g, dnnl_fpmath_mode_t &mode, bool &apply_to_int) {
    mode = g.mode;
    apply_to_int = g.apply_to_int;
}

void add_op(graph_record &g, const op_record &op) {
    report_errors([&] { add(g, op); });
}

void finalize(graph_record &g) {
    if (g.finalized) return;
    auto ordered = sort_topologically(g.ops);
    if (g.by_onednn) require_success(onednn().graph_finalize(g.by_onednn.get()), "graph", "finalize");
    g.ops = std::move(ordered);
    g.finalized = true;
}

bool is_finalized(const graph_record &g) {
    return g.finalized;
}

size_t find_partitions(graph_record &g, dnnl_graph_partition_policy_t policy) {
    if (!g.finalized)
        throw refused(dnnl_invalid_graph,
                "graph: expected a finalized graph for get_partitions, given one that is not finalized");
    if (policy != dnnl_graph_partition_policy_fusion && policy != dnnl_graph_partition_policy_debug)
        refuse_number("partition policy fusion or debug", policy);
    g.found.clear();
    if (g.by_onednn)
        find_partitions_of_onednn(g, policy);
    else
        for (const auto &op : g.ops)
            g.found.push_back(make_claimed_partition(claim_op(op), g.mode));
    return g.found.size();
}

partition_record *take_partition(graph_record &g, size_t index) {
    return new partition_record(std::move(g.found[index]));
}

void destroy(graph_record *g) noexcept {
    delete g;
}

} // namespace dynquant::graph::core
