// oneDNN's partitions. A partition that is one op of this family is claimed: this library compiles it.
#include <algorithm>
#include <vector>

#include "graph/backing_graph.hpp"
#include "graph/check.hpp"
#include "graph/compiled_op.hpp"
#include "onednn_graph/compiled_partition.hpp"

using namespace dynquant::onednn_graph;

namespace {

struct tensor_lists {
    size_t in_num;
    const dnnl_graph_logical_tensor_t **inputs;
    size_t out_num;
    const dnnl_graph_logical_tensor_t **outputs;
};

std::vector<dnnl_graph_logical_tensor_t> copy(size_t count, const dnnl_graph_logical_tensor_t **list) {
    std::vector<dnnl_graph_logical_tensor_t> copies;
    for (size_t i = 0; i < count; ++i)
        copies.push_back(*list[i]);
    return copies;
}

/// Compiles with oneDNN and stores the result behind the handle of the claimed op.
dnnl_status_t compile_by_onednn(own_compiled_partition &own, dnnl_graph_partition_t partition, const tensor_lists &t,
        dnnl_engine_t engine, std::string why) {
    dnnl_graph_compiled_partition_t handle = nullptr;
    const auto created = onednn().compiled_partition_create(&handle, partition);
    if (created != dnnl_success) return created;
    core::onednn_compiled_partition compiled(handle);
    const auto status = onednn().partition_compile(partition, handle, t.in_num, t.inputs, t.out_num, t.outputs, engine);
    if (status != dnnl_success) return status;
    own.by_dynquant.reset(); // of an earlier compile
    own.by_onednn = std::move(compiled);
    own.why_not_ours = std::move(why);
    return status;
}

/// Compiles a claimed op, with oneDNN as the fallback.
dnnl_status_t compile_claimed(own_compiled_partition &own, const claim &claimed, dnnl_graph_partition_t partition,
        const tensor_lists &t, dnnl_engine_t engine) {
    try {
        own.by_dynquant = claimed.ops->compile(
                copy(t.in_num, t.inputs), copy(t.out_num, t.outputs), claimed.mode, dynquant::kernels::own_kernels());
        return dnnl_success;
    } catch (const core::wrong_count &) {
        throw; // no fallback: oneDNN would read past the parameters
    } catch (const dnnl::error &e) {
        tell_wrong_environment();
        if (compile_by_onednn(own, partition, t, engine, dynquant::concat(e.message, ", so it was left to oneDNN"))
                != dnnl_success)
            throw;
        core::report("leave", e.message);
        return dnnl_success;
    }
}

bool is_cpu(dnnl_engine_t engine) {
    auto kind = dnnl_any_engine;
    return onednn().engine_get_kind(engine, &kind) == dnnl_success && kind == dnnl_cpu;
}

bool any_null(size_t count, const dnnl_graph_logical_tensor_t **list) {
    if (count > 0 && !list) return true;
    for (size_t i = 0; i < count; ++i)
        if (!list[i]) return true;
    return false;
}

/// Creates oneDNN's partition of one checked op, or of a Wildcard in its place if oneDNN refuses the op.
dnnl_status_t create_claimed(dnnl_graph_partition_t *partition, const op_record &op) {
    dnnl_graph_graph_t handle = nullptr;
    const auto created = onednn().graph_create(&handle, dnnl_cpu);
    if (created != dnnl_success) return created;
    const core::onednn_graph graph(handle);
    const auto &f = onednn();
    auto status = core::add_op_or_wildcard(handle, op);
    if (status == dnnl_success) status = f.graph_finalize(handle);
    if (status == dnnl_success) status = f.graph_filter(handle, dnnl_graph_partition_policy_fusion);
    if (status == dnnl_success) status = f.graph_get_partitions(handle, 1, partition);
    return status;
}

/// The layer behind a handle, whose Wildcard oneDNN would describe, or null.
std::shared_ptr<const core::claimed> find_layer(const_dnnl_graph_partition_t partition) {
    const auto found = claims().find(partition);
    return found && found->is_layer ? found->ops : nullptr;
}

/// Tells the length of a list of a layer, or asks oneDNN.
template <auto list_of_layer, auto ask_onednn>
dnnl_status_t tell_count(const_dnnl_graph_partition_t partition, size_t *num) {
    return guarded([&] {
        const auto layer = num ? find_layer(partition) : nullptr;
        if (!layer) return (onednn().*ask_onednn)(partition, num);
        *num = (*layer.*list_of_layer)().size();
        return dnnl_success;
    });
}

/// Copies a list of a layer, or asks oneDNN.
template <auto list_of_layer, auto ask_onednn, typename Partition, typename T>
dnnl_status_t tell_list(Partition partition, size_t num, T *to) {
    return guarded([&] {
        const auto layer = find_layer(partition);
        if (!layer) return (onednn().*ask_onednn)(partition, num, to);
        const auto &list = (*layer.*list_of_layer)();
        if (!to || num != list.size()) return dnnl_invalid_arguments;
        std::ranges::copy(list, to);
        return dnnl_success;
    });
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_partition_create_with_op(
        dnnl_graph_partition_t *partition, const_dnnl_graph_op_t op, dnnl_engine_kind_t ekind) {
    return guarded([&] {
        const auto record = ekind == dnnl_cpu && partition ? ops().find(op) : nullptr;
        if (!record || !core::find_schema(record->kind) || core::is_extension(*record))
            return onednn().partition_create_with_op(partition, op, ekind);
        try {
            core::check(*record, core::stage::add_op);
        } catch (const core::wrong_count &) {
            throw; // no fallback: oneDNN would read past the parameters
        } catch (const dnnl::error &e) {
            if (onednn().partition_create_with_op(partition, op, ekind) != dnnl_success) throw;
            core::report("leave", e.message);
            return dnnl_success;
        }
        core::require_success(create_claimed(partition, *record), core::label(*record), "make a partition of");
        auto mode = dnnl_fpmath_mode_strict;
        onednn().get_default_fpmath_mode(&mode);
        claims().put(*partition,
                std::make_shared<const claim>(
                        claim {core::claim_op(std::make_shared<const op_record>(*record)), mode}));
        core::report("claim", core::label(*record));
        return dnnl_success;
    });
}

dnnl_status_t dnnl_graph_partition_destroy(dnnl_graph_partition_t partition) {
    return guarded([&] {
        claims().drop(partition);
        return onednn().partition_destroy(partition);
    });
}

dnnl_status_t dnnl_graph_partition_is_supported(const_dnnl_graph_partition_t partition, uint8_t *is_supported) {
    return guarded([&] {
        if (!is_supported || !claims().find(partition)) return onednn().partition_is_supported(partition, is_supported);
        *is_supported = 1;
        return dnnl_success;
    });
}

dnnl_status_t dnnl_graph_partition_compile(dnnl_graph_partition_t partition,
        dnnl_graph_compiled_partition_t compiled_partition, size_t in_num, const dnnl_graph_logical_tensor_t **inputs,
        size_t out_num, const dnnl_graph_logical_tensor_t **outputs, dnnl_engine_t engine) {
    return guarded([&] {
        const tensor_lists t = {in_num, inputs, out_num, outputs};
        auto *own = find_own(compiled_partition);
        if (!own)
            return onednn().partition_compile(partition, compiled_partition, in_num, inputs, out_num, outputs, engine);
        const auto claimed = claims().find(partition);
        const auto what = claimed ? claimed->ops->label() : "a partition that is not claimed";
        if (!partition || !engine || any_null(in_num, inputs) || any_null(out_num, outputs))
            throw core::refused(dnnl_invalid_arguments,
                    what + ": compile: expected a partition, an engine and logical tensors, given null for one");
        return claimed && is_cpu(engine)
                ? compile_claimed(*own, *claimed, partition, t, engine)
                : compile_by_onednn(*own, partition, t, engine, what + ": engine: expected one of kind cpu");
    });
}

// What a layer's partition is made of.

dnnl_status_t dnnl_graph_partition_get_op_num(const_dnnl_graph_partition_t partition, size_t *num) {
    return tell_count<&core::claimed::ids, &core::onednn_functions::partition_get_op_num>(partition, num);
}

dnnl_status_t dnnl_graph_partition_get_ops(dnnl_graph_partition_t partition, size_t num, size_t *ids) {
    return tell_list<&core::claimed::ids, &core::onednn_functions::partition_get_ops>(partition, num, ids);
}

dnnl_status_t dnnl_graph_partition_get_input_ports_num(const_dnnl_graph_partition_t partition, size_t *num) {
    return tell_count<&core::claimed::inputs, &core::onednn_functions::partition_get_input_ports_num>(partition, num);
}

dnnl_status_t dnnl_graph_partition_get_input_ports(
        const_dnnl_graph_partition_t partition, size_t num, dnnl_graph_logical_tensor_t *inputs) {
    return tell_list<&core::claimed::inputs, &core::onednn_functions::partition_get_input_ports>(
            partition, num, inputs);
}

dnnl_status_t dnnl_graph_partition_get_output_ports_num(const_dnnl_graph_partition_t partition, size_t *num) {
    return tell_count<&core::claimed::outputs, &core::onednn_functions::partition_get_output_ports_num>(partition, num);
}

dnnl_status_t dnnl_graph_partition_get_output_ports(
        const_dnnl_graph_partition_t partition, size_t num, dnnl_graph_logical_tensor_t *outputs) {
    return tell_list<&core::claimed::outputs, &core::onednn_functions::partition_get_output_ports>(
            partition, num, outputs);
}

} // extern "C"
