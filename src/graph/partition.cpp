#include "graph/partition.hpp"

#include <atomic>

#include "graph/backing_graph.hpp"
#include "graph/refusal.hpp"
#include "graph/report.hpp"

namespace dynquant::graph::core {
namespace {

std::string label(const partition_record &p) {
    if (p.by_dynquant) return p.by_dynquant->label();
    std::string ids;
    for (const auto id : p.ops)
        ids += concat(ids.empty() ? "" : ", ", id);
    return concat("partition ", p.id, " (", p.ops.size() == 1 ? "op " : "ops ", ids, ")");
}

onednn_compiled_partition compile_by_onednn(const partition_record &p, std::span<const c_logical_tensor> inputs,
        std::span<const c_logical_tensor> outputs, dnnl_engine_t engine) {
    const auto pointers = [](std::span<const c_logical_tensor> list) {
        std::vector<const c_logical_tensor *> result;
        for (const auto &t : list)
            result.push_back(&t);
        return result;
    };
    dnnl_graph_compiled_partition_t handle = nullptr;
    require_success(onednn().compiled_partition_create(&handle, p.by_onednn.get()), label(p), "prepare to compile");
    onednn_compiled_partition compiled(handle);
    auto in = pointers(inputs), out = pointers(outputs);
    require_success(
            onednn().partition_compile(p.by_onednn.get(), handle, in.size(), in.data(), out.size(), out.data(), engine),
            label(p), "compile");
    return compiled;
}

} // namespace

partition_record make_claimed_partition(std::shared_ptr<const claimed> by_dynquant, dnnl_fpmath_mode_t mode) {
    static std::atomic<size_t> next_id {0};
    partition_record p;
    p.id = next_id++;
    p.mode = mode;
    claim(p, std::move(by_dynquant));
    return p;
}

void claim(partition_record &p, std::shared_ptr<const claimed> by_dynquant) {
    p.ops = by_dynquant->ids();
    p.inputs = by_dynquant->inputs();
    p.outputs = by_dynquant->outputs();
    if (!p.supported) p.by_onednn.reset(); // a Wildcard in place of the op, which oneDNN cannot compile
    p.supported = true;
    report("claim", by_dynquant->label());
    p.by_dynquant = std::move(by_dynquant);
}

partition_record *create_partition(const op_record &op, dnnl_engine_kind_t kind) {
    // As oneDNN does: the partition of a graph of this op alone.
    const std::unique_ptr<graph_record> g(prefix_errors(op, [&] { return create_graph(kind); }));
    add_op(*g, op);
    finalize(*g);
    if (find_partitions(*g, dnnl_graph_partition_policy_fusion) != 1)
        refuse(op, dnnl_unimplemented, "expected an op that is a partition, given one that oneDNN makes none of");
    return take_partition(*g, 0);
}

size_t get_id(const partition_record &p) {
    return p.id;
}

size_t get_ops(const partition_record &p, const size_t *&ids) {
    ids = p.ops.data();
    return p.ops.size();
}

bool is_supported(const partition_record &p) {
    return p.supported;
}

dnnl_engine_kind_t get_engine_kind(const partition_record &) {
    return dnnl_cpu;
}

size_t get_inputs(const partition_record &p, const dnnl_graph_logical_tensor_t *&ports) {
    ports = p.inputs.data();
    return p.inputs.size();
}

size_t get_outputs(const partition_record &p, const dnnl_graph_logical_tensor_t *&ports) {
    ports = p.outputs.data();
    return p.outputs.size();
}

compiled_partition_record *compile(const partition_record &p, size_t input_count,
        const dnnl_graph_logical_tensor_t *inputs, size_t output_count, const dnnl_graph_logical_tensor_t *outputs,
        dnnl_engine_t engine, dnnl_engine_kind_t kind) {
    const std::span in(inputs, input_count), out(outputs, output_count);
    const auto by_onednn = [&] {
        return new compiled_partition_record {label(p), {}, compile_by_onednn(p, in, out, engine)};
    };
    return report_errors([&] {
        require_cpu(label(p), kind);
        if (!p.by_dynquant) return by_onednn();
        try {
            return new compiled_partition_record {
                    label(p), p.by_dynquant->compile(in, out, p.mode, kernels::every_kernel()), {}};
        } catch (const opaque_layout &e) {
            if (!p.by_onednn) throw;
            report("leave", e.message);
            return by_onednn();
        }
    });
}

void destroy(partition_record *p) noexcept {
    delete p;
}

} // namespace dynquant::graph::core
