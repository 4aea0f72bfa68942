// The graph: checked snapshots of ops, connected by the ids of logical tensors.
#include <algorithm>
#include <set>

#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/partition.hpp"
#include "graph/refusal.hpp"
#include "oneapi/dnnl/dnnl.h"

namespace dynquant::graph::core {
namespace {

std::vector<port> ports_of(const op_record &op) {
    const auto &schema = *find_schema(op.kind);
    std::vector<port> ports;
    for (size_t i = 0; i < op.inputs.size(); ++i)
        ports.push_back({&op, schema.inputs[i].name, &op.inputs[i], false});
    ports.push_back({&op, schema.output.name, &op.outputs.front(), true});
    return ports;
}

/// Throws unless `added` and `present`, which have one id, may be one tensor.
void check_same_tensor(const port &added, const port &present) {
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

/// Which ops feed which, by their indices in the graph.
class dependencies {
  public:
    explicit dependencies(const graph_record &g)
        : g_(g)
        , consumers_(g.ops.size())
        , producers_(g.ops.size()) {
        std::map<size_t, size_t> writer; // of a logical tensor
        for (size_t i = 0; i < g.ops.size(); ++i)
            writer.emplace(g.ops[i]->outputs.front().id, i);
        for (size_t i = 0; i < g.ops.size(); ++i)
            for (const auto &input : g.ops[i]->inputs)
                if (const auto found = writer.find(input.id); found != writer.end()) {
                    consumers_[found->second].push_back(i);
                    producers_[i].insert(found->second);
                }
    }

    /// Producers before consumers, otherwise in the order of add_op (Kahn, 1962). Throws on a cycle.
    std::vector<size_t> order() {
        std::set<size_t> ready;
        for (size_t i = 0; i < producers_.size(); ++i)
            if (producers_[i].empty()) ready.insert(i);
        std::vector<size_t> result;
        while (!ready.empty()) {
            const auto next = *ready.begin();
            ready.erase(ready.begin());
            result.push_back(next);
            for (const auto consumer : consumers_[next])
                if (producers_[consumer].erase(next) && producers_[consumer].empty()) ready.insert(consumer);
        }
        if (result.size() != producers_.size()) refuse_cycle();
        return result;
    }

  private:
    /// Each op left waits for another; going from op to producer leads into a cycle.
    [[noreturn]] void refuse_cycle() const {
        auto at = static_cast<size_t>(
                std::ranges::find_if(producers_, [](const auto &set) { return !set.empty(); }) - producers_.begin());
        for (size_t step = 0; step < producers_.size(); ++step)
            at = *producers_[at].begin();
        const auto &op = *g_.ops[at];
        refuse(op, dnnl_invalid_graph, "dst: expected a graph without cycles, given one in which logical tensor ",
                op.outputs.front().id, " depends on itself");
    }

    const graph_record &g_;
    std::vector<std::vector<size_t>> consumers_;
    std::vector<std::set<size_t>> producers_; // those not yet in order
};

} // namespace

graph_record *create_graph(dnnl_engine_kind_t kind) {
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    dnnl::error::wrap_c_api(dnnl_get_default_fpmath_mode(&mode), "graph: could not get the default fpmath mode");
    return create_graph(kind, mode);
}

graph_record *create_graph(dnnl_engine_kind_t kind, dnnl_fpmath_mode_t mode) {
    require_cpu("graph", kind);
    return new graph_record {mode};
}

void set_fpmath_mode(graph_record &g, dnnl_fpmath_mode_t mode, bool apply_to_int) {
    g.mode = mode;
    g.apply_to_int = apply_to_int;
}

void get_fpmath_mode(const graph_record &g, dnnl_fpmath_mode_t &mode, bool &apply_to_int) {
    mode = g.mode;
    apply_to_int = g.apply_to_int;
}

void add_op(graph_record &g, const op_record &op) {
    if (g.finalized) refuse(op, dnnl_invalid_graph, "expected a graph that is not finalized, given a finalized one");
    check(op, stage::add_op);
    const auto same_id = std::ranges::find(g.ops, op.id, [](const auto &present) { return present->id; });
    if (same_id != g.ops.end())
        refuse(op, dnnl_invalid_graph, "id: expected one that no other op of the graph has, given that of ",
                label(**same_id));
    const auto snapshot = std::make_shared<const op_record>(op);
    const auto ports = ports_of(*snapshot);
    check_connections(g, ports);

    g.ops.push_back(snapshot);
    for (const auto &port : ports)
        g.ports.emplace(port.described->id, port);
}

void finalize(graph_record &g) {
    if (g.finalized) return;
    std::vector<std::shared_ptr<const op_record>> ordered;
    for (const auto index : dependencies(g).order())
        ordered.push_back(g.ops[index]);
    g.ops = std::move(ordered);
    g.finalized = true;
}

bool is_finalized(const graph_record &g) {
    return g.finalized;
}

size_t count_partitions(const graph_record &g) {
    if (!g.finalized)
        throw dynquant::error(dnnl_invalid_graph,
                "graph: expected a finalized graph for get_partitions, given one that is not finalized");
    return g.ops.size();
}

partition_record *get_partition(const graph_record &g, size_t index) {
    return create_partition(g.ops[index], g.mode);
}

void destroy(graph_record *g) noexcept {
    delete g;
}

} // namespace dynquant::graph::core
