// oneDNN's graphs, with a record of the ops that were added.
#include <algorithm>

#include "graph/backing_graph.hpp"
#include "graph/check.hpp"
#include "graph/compiled_op.hpp"
#include "graph/dependencies.hpp"
#include "onednn_graph/records.hpp"

using namespace dynquant::onednn_graph;

namespace {

/// Records a new graph of a CPU. Other engines are left to oneDNN, as execute on their streams is asynchronous.
dnnl_status_t record_graph(
        dnnl_status_t status, const dnnl_graph_graph_t *graph, dnnl_engine_kind_t kind, dnnl_fpmath_mode_t mode) {
    if (status == dnnl_success && kind == dnnl_cpu) graphs().put(*graph, std::make_shared<graph_state>(mode));
    return status;
}

/// Adds an op of another family, or one that is left to oneDNN because dynquant refuses it. record: null if there is
/// none.
dnnl_status_t add_to_onednn(graph_state &state, dnnl_graph_graph_t graph, dnnl_graph_op_t op, const op_record *record,
        bool is_refused = false) {
    size_t id = 0;
    auto status = onednn().op_get_id(op, &id);
    if (status == dnnl_success) status = onednn().add_op(graph, op);
    if (status != dnnl_success || !state.ids.insert(id).second) return status;
    if (!record) {
        state.has_layers = false;
        return status;
    }
    auto copy = std::make_shared<op_record>(*record); // as the program may change the op
    copy->is_left_to_onednn = is_refused;
    state.ops.push_back(std::move(copy));
    return status;
}

dnnl_status_t add_family_op(graph_state &state, dnnl_graph_graph_t graph, const op_record &op) {
    core::require_success(core::add_op_or_wildcard(graph, op), core::label(op), "add");
    state.ids.insert(op.id);
    state.family.insert(op.id);
    state.ops.push_back(std::make_shared<const op_record>(op));
    return dnnl_success;
}

/// What dynquant compiles of a partition, a layer or one op of this family, or null.
std::shared_ptr<const claim> claim_of(const graph_state &state, const core::partition_or_layer &partition) {
    auto claimed = partition.layer;
    if (!claimed) {
        const auto ids = core::ops_of(partition.handle);
        if (ids.size() != 1 || !state.family.contains(ids.front())) return nullptr;
        claimed = core::claim_op(*std::ranges::find(state.ops, ids.front(), [](const auto &op) { return op->id; }));
    }
    core::report("claim", claimed->label());
    return std::make_shared<const claim>(claim {std::move(claimed), state.mode, partition.layer != nullptr});
}

/// Takes layers from what oneDNN has partitioned. Without them the graph stays as oneDNN has it.
void look_for_layers(graph_state &state, dnnl_graph_graph_t graph, dnnl_graph_partition_policy_t policy) {
    state.around.reset();
    if (!state.has_layers || state.family.empty()) return;
    try {
        state.around = core::take_layers(
                graph, core::sort_topologically(state.ops), {state.mode, state.applies_to_int, policy});
    } catch (const dnnl::error &e) {
        core::report("leave", dynquant::concat("layers of the graph: ", e.message));
    }
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_graph_create(dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind) {
    return guarded([&] {
        auto mode = dnnl_fpmath_mode_strict;
        onednn().get_default_fpmath_mode(&mode);
        return record_graph(onednn().graph_create(graph, engine_kind), graph, engine_kind, mode);
    });
}

dnnl_status_t dnnl_graph_graph_create_with_fpmath_mode(
        dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind, dnnl_fpmath_mode_t mode) {
    return guarded([&] {
        return record_graph(onednn().graph_create_with_fpmath_mode(graph, engine_kind, mode), graph, engine_kind, mode);
    });
}

// Newer than 3.2, where a graph keeps the mode that it was created with.
DNNL_API dnnl_status_t dnnl_graph_graph_set_fpmath_mode(
        dnnl_graph_graph_t graph, dnnl_fpmath_mode_t mode, int apply_to_int) {
    return guarded([&] {
        const auto set = onednn().graph_set_fpmath_mode;
        const auto state = graphs().find(graph);
        if (!set && !(state && state->mode == mode))
            throw core::refused(dnnl_unimplemented,
                    dynquant::concat(
                            "graph: fpmath mode: expected that of its creation, which this oneDNN keeps, given ",
                            static_cast<int>(mode)));
        const auto status = set ? set(graph, mode, apply_to_int) : dnnl_success;
        if (status != dnnl_success || !state) return status;
        state->mode = mode;
        state->applies_to_int = apply_to_int != 0;
        return status;
    });
}

dnnl_status_t dnnl_graph_graph_destroy(dnnl_graph_graph_t graph) {
    return guarded([&] {
        graphs().drop(graph);
        return onednn().graph_destroy(graph);
    });
}

dnnl_status_t dnnl_graph_add_op(dnnl_graph_graph_t graph, dnnl_graph_op_t op) {
    return guarded([&] {
        const auto state = graphs().find(graph);
        if (!state) return onednn().add_op(graph, op);
        const auto record = ops().find(op);
        if (!record || !core::find_schema(record->kind) || core::is_extension(*record) || state->ids.count(record->id))
            return add_to_onednn(*state, graph, op, record.get());
        try {
            core::check(*record, core::stage::add_op);
        } catch (const core::wrong_count &) {
            throw; // no fallback: oneDNN would read past the parameters
        } catch (const dnnl::error &e) {
            const auto status = add_to_onednn(*state, graph, op, record.get(), true);
            if (status != dnnl_success) throw;
            core::report("leave", e.message);
            return status;
        }
        return add_family_op(*state, graph, *record);
    });
}

dnnl_status_t dnnl_graph_graph_filter(dnnl_graph_graph_t graph, dnnl_graph_partition_policy_t policy) {
    return guarded([&] {
        const auto status = onednn().graph_filter(graph, policy);
        const auto state = graphs().find(graph);
        if (status == dnnl_success && state) look_for_layers(*state, graph, policy);
        return status;
    });
}

dnnl_status_t dnnl_graph_graph_get_partition_num(const_dnnl_graph_graph_t graph, size_t *num) {
    return guarded([&] {
        if (!num) return dnnl_invalid_arguments; // oneDNN writes there
        const auto state = graphs().find(graph);
        if (!state || !state->around) return onednn().graph_get_partition_num(graph, num);
        *num = core::count_partitions(*state->around);
        return dnnl_success;
    });
}

dnnl_status_t dnnl_graph_graph_get_partitions(
        dnnl_graph_graph_t graph, size_t num, dnnl_graph_partition_t *partitions) {
    return guarded([&] {
        const auto state = graphs().find(graph);
        auto found = state && partitions && !state->family.empty() ? core::partitions_of(graph, state->around)
                                                                   : std::vector<core::partition_or_layer>();
        if (found.empty()) return onednn().graph_get_partitions(graph, num, partitions);
        found.resize(std::min(num, found.size()));
        try {
            for (const auto &partition : found)
                if (auto claimed = claim_of(*state, partition))
                    claims().put(partition.handle.get(), std::move(claimed));
        } catch (...) {
            for (const auto &partition : found)
                claims().drop(partition.handle.get());
            throw;
        }
        for (size_t i = 0; i < found.size(); ++i)
            partitions[i] = found[i].handle.release();
        return dnnl_success;
    });
}

// Whether layers keep packed weights, as oneDNN's fused partitions keep theirs in its cache.

dnnl_status_t dnnl_graph_set_constant_tensor_cache(int flag) {
    return guarded([&] {
        const auto status = onednn().set_constant_tensor_cache(flag);
        if (status == dnnl_success) core::keep_packed_weights(flag != 0);
        return status;
    });
}

// Newer than 3.2.
DNNL_API dnnl_status_t dnnl_graph_set_constant_tensor_cache_capacity(dnnl_engine_kind_t kind, size_t size) {
    return guarded([&] {
        const auto set = onednn().set_constant_tensor_cache_capacity;
        const auto status = set ? set(kind, size) : dnnl_unimplemented;
        if (status == dnnl_success && kind == dnnl_cpu) core::keep_packed_weights(size != 0);
        return status;
    });
}

} // extern "C"
