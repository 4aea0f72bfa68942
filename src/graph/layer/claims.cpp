#include "graph/layer/claims.hpp"

#include <algorithm>
#include <set>

#include "graph/attributes.hpp"
#include "graph/backing_graph.hpp"
#include "graph/layer/claimed_layer.hpp"
#include "graph/layer/convolution.hpp"
#include "graph/layer/find_chains.hpp"
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"
#include "graph/report.hpp"
#include "quantization/environment.hpp"

namespace dynquant::graph::core {
namespace {

bool has_dynamic_dequantize(const chain &c) {
    return (c.dequantize_x && c.dequantize_x->kind == dnnl_graph_op_dynamic_dequantize)
            || c.dequantize_w->kind == dnnl_graph_op_dynamic_dequantize;
}

/// Partitions as lists of ids.
class partitioning {
  public:
    explicit partitioning(dnnl_graph_graph_t graph) {
        for (const auto &p : partitions_of(graph)) {
            const auto index = sizes_.size();
            const auto ids = ops_of(p);
            sizes_.push_back(ids.size());
            for (const auto id : ids)
                partition_of_[id] = index;
        }
    }

    bool is_fused(const op_record &op) const {
        const auto found = partition_of_.find(op.id);
        return found != partition_of_.end() && sizes_[found->second] > 1;
    }
    bool are_together(const op_record &a, const op_record &b) const {
        return is_fused(a) && is_fused(b) && partition_of_.at(a.id) == partition_of_.at(b.id);
    }

  private:
    std::map<size_t, size_t> partition_of_; // by the op's id
    std::vector<size_t> sizes_;
};

/// Without VNNI oneDNN adds two products of bytes in 16 bits, which saturates (VPMADDUBSW; "Nuances of int8
/// computations" in its Developer Guide).
bool multiplies_exactly() {
    const auto isa = static_cast<unsigned>(onednn().get_effective_cpu_isa());
    const auto has = [=](unsigned needed) { return (isa & needed) == needed; };
    return has(dnnl_cpu_isa_avx2_vnni) || has(dnnl_cpu_isa_avx512_core_vnni);
}

/// oneDNN 3.2 fuses such a convolution, and then does not compile it.
bool has_zp_of_filters(const chain &c) {
    const auto *zps = find_attribute<std::vector<std::int64_t>>(*c.dequantize_w, dnnl_graph_op_attr_zps);
    return is_convolution(*c.product) && zps && std::ranges::any_of(*zps, [](auto zp) { return zp != 0; });
}

/// A kernel that is forced computes single ops, and layers have no other than the native one. Under a wrong environment
/// single ops say what is wrong, and the drop-in leaves them to oneDNN.
bool layers_are_wanted() {
    try {
        environment::check();
        return environment::kernel().value_or(kernel_kind::native) == kernel_kind::native;
    } catch (const dynquant::error &) {
        return false;
    }
}

bool is_taken(const chain &c, const partitioning &p) {
    if (c.is_weight_only()) return has_dynamic_dequantize(c) || !p.are_together(*c.product, *c.dequantize_w);
    const bool is_one_of_onednn =
            p.are_together(*c.product, *c.dequantize_x) && p.are_together(*c.product, *c.dequantize_w);
    return has_dynamic_dequantize(c) || !is_one_of_onednn || has_several_zps(*c.dequantize_x)
            || has_several_zps(*c.dequantize_w) || has_zp_of_filters(c) || !multiplies_exactly();
}

/// A Dequantize that several products read, as those of queries, keys and values do, is computed in the layer of each,
/// and so is a TypeCast behind it. Either is the first layer's where only layers read it, and else a partition of its
/// own as well.
void share_dequantize(std::vector<chain> &chains, const std::vector<op_pointer> &ops) {
    std::set<size_t> readers; // of layers
    for (const auto &c : chains)
        readers.insert(c.product->id);
    const auto is_read_elsewhere = [&](const op_pointer &op) {
        return std::ranges::any_of(ops, [&](const op_pointer &consumer) {
            return !readers.contains(consumer->id)
                    && std::ranges::count(consumer->inputs, op->outputs.front().id, &c_logical_tensor::id) != 0;
        });
    };
    for (const auto &c : chains)
        if (c.cast_w && !is_read_elsewhere(c.cast_w)) readers.insert(c.cast_w->id);
    std::set<size_t> owned;
    for (auto &c : chains)
        for (const auto &op : c.ops) {
            const bool may_be_shared = op == c.dequantize_x || op == c.dequantize_w || op == c.cast_w;
            if (may_be_shared && is_read_elsewhere(op)) continue;
            if (owned.insert(op->id).second) c.owned.push_back(op->id);
        }
}

bool is_dequantize(const op_record &op) {
    return op.kind == dnnl_graph_op_dequantize || op.kind == dnnl_graph_op_dynamic_dequantize;
}

/// Whether oneDNN fuses a MatMul with a Dequantize, and not only with what follows.
bool multiplies_integers(const partitioning &by_onednn, const op_record &product, const std::vector<op_pointer> &ops) {
    return std::ranges::any_of(
            ops, [&](const auto &op) { return is_dequantize(*op) && by_onednn.are_together(product, *op); });
}

onednn_graph make_graph(
        const std::vector<op_pointer> &ops, const std::set<size_t> &wildcards, const graph_modes &modes) {
    auto graph = create_backing_graph(modes.fpmath, modes.apply_to_int);
    for (const auto &op : ops)
        require_success(wildcards.contains(op->id) ? add_wildcard(graph.get(), *op) : add_any_op(graph.get(), *op),
                label(*op), "add");
    require_success(onednn().graph_finalize(graph.get()), "graph", "finalize");
    require_success(onednn().graph_filter(graph.get(), modes.policy), "graph", "partition");
    return graph;
}

void report_taken(const std::vector<chain> &chains) {
    for (const auto &c : chains)
        for (const auto &op : c.ops)
            if (find_schema(op->kind)) report("claim", concat(label(*op), ": in the layer of ", label(*c.product)));
}

/// What is known to be wrong with what oneDNN fuses.
std::string known_error(const op_record &op) {
    if (has_several_zps(op)) return ", and takes the first of its zps for all channels";
    const bool is_quantize = op.kind == dnnl_graph_op_quantize || op.kind == dnnl_graph_op_dynamic_quantize;
    return is_quantize ? ", and multiplies by 1 / scale, so that results next to ties may differ by 1" : "";
}

void report_left(
        const std::vector<op_pointer> &ops, const partitioning &p, const std::map<size_t, std::string> &why_no_layer) {
    for (const auto &op : ops)
        if (find_schema(op->kind) && p.is_fused(*op)) report_fused(*op, known_error(*op));
    for (const auto &op : ops)
        if (const auto why = why_no_layer.find(op->id); why != why_no_layer.end() && !multiplies_integers(p, *op, ops))
            report("leave", concat(label(*op), ": oneDNN multiplies floats, as it is no layer: ", why->second));
}

} // namespace

std::optional<graph_around_layers> take_layers(
        dnnl_graph_graph_t given, const std::vector<op_pointer> &ops, const graph_modes &modes) {
    if (modes.policy != dnnl_graph_partition_policy_fusion) return std::nullopt; // oneDNN fuses nothing either
    const partitioning by_onednn(given);
    auto found = find_chains(ops);
    auto &chains = found.chains;
    if (!layers_are_wanted()) chains.clear();
    std::erase_if(chains, [&](const chain &c) { return !is_taken(c, by_onednn); });
    share_dequantize(chains, ops);
    std::set<size_t> taken;
    for (const auto &c : chains)
        taken.insert(c.owned.begin(), c.owned.end());
    if (chains.empty()) {
        report_left(ops, by_onednn, found.others);
        return std::nullopt;
    }

    graph_around_layers result;
    result.by_onednn = make_graph(ops, taken, modes);
    // Around the layers oneDNN may leave alone what it fused with their ops.
    report_left(ops, partitioning(result.by_onednn.get()), found.others);
    report_taken(chains);
    for (auto &c : chains) {
        const auto last = c.last().id;
        for (const auto id : c.owned)
            if (id != last) result.others.push_back(id);
        result.layers[last] = claim_layer(std::move(c));
    }
    return result;
}

std::vector<partition_or_layer> partitions_of(
        dnnl_graph_graph_t graph, const std::optional<graph_around_layers> &around) {
    std::vector<partition_or_layer> result;
    for (auto &p : partitions_of(around ? around->by_onednn.get() : graph)) {
        std::shared_ptr<const claimed> layer;
        const auto ids = around ? ops_of(p) : std::vector<size_t>();
        if (ids.size() == 1) {
            if (std::ranges::count(around->others, ids.front()) != 0) continue;
            if (const auto found = around->layers.find(ids.front()); found != around->layers.end())
                layer = found->second;
        }
        result.push_back({std::move(p), std::move(layer)});
    }
    return result;
}

size_t count_partitions(const graph_around_layers &g) {
    size_t count = 0;
    require_success(onednn().graph_get_partition_num(g.by_onednn.get(), &count), "graph", "count the partitions of");
    return count - g.others.size(); // each Wildcard is a partition of its own
}

} // namespace dynquant::graph::core
