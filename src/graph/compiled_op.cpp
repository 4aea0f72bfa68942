#include "graph/compiled_op.hpp"

#include <algorithm>
#include <limits>

#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/lowering.hpp"
#include "graph/onednn.hpp"
#include "graph/refusal.hpp"
#include "parallel/parallel.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

using logical_tensors = std::span<const c_logical_tensor>;

/// Replaces a port by the logical tensor with its id in a list given to compile; returns the position in the list.
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
        refuse(op, dnnl_invalid_data_type, name, ": expected data type ", name_of(port.data_type),
                ", as the op has it, given ", name_of(given->data_type));
    port = *given;
    return static_cast<size_t>(given - list.begin());
}

/// Replaces all ports of the op.
tensor_positions substitute(op_record &op, logical_tensors inputs, logical_tensors outputs) {
    const auto &schema = *find_schema(op);
    tensor_positions positions {inputs.size(), outputs.size()};
    const bool computed = computes_scales(op);
    size_t *const of_inputs[] = {
            &positions.src, computed ? &positions.global_scale : &positions.scales, &positions.zps};
    size_t *const of_outputs[] = {&positions.dst, &positions.computed_scales, &positions.computed_zps};
    for (size_t i = 0; i < op.inputs.size(); ++i)
        *of_inputs[i] = substitute(op, schema.inputs[i].name, op.inputs[i], "inputs", inputs);
    for (size_t i = 0; i < op.outputs.size(); ++i)
        *of_outputs[i] = substitute(op, schema.outputs[i].name, op.outputs[i], "outputs", outputs);
    return positions;
}

void set_final_shape(c_logical_tensor &t, const dims &extents, const dims &strides) {
    t.ndims = static_cast<int>(extents.size());
    t.layout_type = dnnl_graph_layout_type_strided;
    std::ranges::copy(extents, t.dims);
    std::ranges::copy(strides, t.layout.strides);
}

/// Sets the dims and strides of all outputs.
void set_final_shapes(op_record &op, const quantization &q) {
    set_final_shape(op.outputs.front(), q.dst.dims, dynquant::strides_of(q.dst));
    const auto counts = parameter_dims(op, q.src.dims);
    for (size_t i = input::scales; i < op.outputs.size(); ++i)
        set_final_shape(op.outputs[i], counts, row_major(counts));
}

void check_stream(const onednn_functions &f, const op_record &op, dnnl_stream_t stream) {
    dnnl_engine_t engine = nullptr;
    dnnl_engine_kind_t kind = dnnl_any_engine;
    if (f.stream_get_engine(stream, &engine) != dnnl_success || f.engine_get_kind(engine, &kind) != dnnl_success)
        refuse(op, dnnl_invalid_arguments, "stream: expected one with an engine, given none");
    if (kind != dnnl_cpu) require_cpu(label(op) + ": stream", kind);
}

/// Waits for earlier work on the stream, which may still write the inputs.
void wait_for(const onednn_functions &f, const op_record &op, dnnl_stream_t stream) {
    static const bool synchronous = is_synchronous(f.version()->cpu_runtime);
    if (synchronous) return;
    const auto status = f.stream_wait(stream);
    if (status != dnnl_success)
        refuse(op, status, "stream: expected one that can be waited for, given ", f.status2str(status));
}

void check_count(const op_record &op, const char *list, size_t expected, size_t given) {
    if (given != expected)
        refuse(op, dnnl_invalid_arguments, list, ": expected ", expected, expected == 1 ? " tensor" : " tensors",
                ", as compile was given, given ", given);
}

void *buffer_of(const onednn_functions &f, const_dnnl_graph_tensor_t tensor) {
    void *buffer = nullptr;
    if (tensor) f.tensor_get_data_handle(tensor, &buffer);
    return buffer;
}

/// Uses OpenMP's threads if oneDNN does: a second thread pool would oversubscribe the processors.
void share_threads_with_onednn() {
    if (onednn().version()->cpu_runtime == DNNL_RUNTIME_OMP)
        parallel::run_on_openmp(reinterpret_cast<const void *>(onednn().version));
}

} // namespace

compiled_op compile(const op_record &described, logical_tensors inputs, logical_tensors outputs,
        dnnl_fpmath_mode_t mode, kernels::kernel_list kernels) {
    auto op = described;
    const auto positions = substitute(op, inputs, outputs);
    const auto q = *check(op, stage::compile, mode == dnnl_fpmath_mode_any ? numerics::any : numerics::strict);

    share_threads_with_onednn();
    set_final_shapes(op, q);
    options opts;
    opts.name = label(op);
    kernels::argument_names names;
    names.second_scales = "global_scale";
    auto prepared = prefix_errors(op, [&] { return kernels::prepare(q, opts, kernels, names); });
    return {std::move(op), positions, std::move(prepared)};
}

const c_logical_tensor *find_port(const compiled_op &c, size_t id) {
    for (const auto *ports : {&c.op.inputs, &c.op.outputs})
        for (const auto &port : *ports)
            if (port.id == id) return &port;
    return nullptr;
}

c_logical_tensor no_logical_tensor() {
    c_logical_tensor none {};
    none.id = std::numeric_limits<size_t>::max();
    none.ndims = DNNL_GRAPH_UNKNOWN_NDIMS;
    none.layout_type = dnnl_graph_layout_type_any;
    return none;
}

c_logical_tensor no_scratchpad() {
    auto none = no_logical_tensor();
    none.data_type = dnnl_u8;
    none.ndims = 1;
    none.dims[0] = 0;
    none.layout_type = dnnl_graph_layout_type_strided;
    none.layout.strides[0] = 1;
    none.property = dnnl_graph_tensor_property_variable;
    return none;
}

void execute(const compiled_op &c, dnnl_stream_t stream, std::span<const const_dnnl_graph_tensor_t> inputs,
        std::span<const const_dnnl_graph_tensor_t> outputs) {
    const auto &positions = c.positions;
    const auto &f = onednn(); // once: a call takes 12 instructions
    check_stream(f, c.op, stream);
    check_count(c.op, "inputs", positions.input_count, inputs.size());
    check_count(c.op, "outputs", positions.output_count, outputs.size());
    const auto input = [&](size_t position) {
        return position == positions.none ? nullptr : buffer_of(f, inputs[position]);
    };
    const auto output = [&](size_t position) {
        return position == positions.none ? nullptr : buffer_of(f, outputs[position]);
    };
    const arguments args = {input(positions.src), input(positions.scales), input(positions.zps), output(positions.dst),
            input(positions.global_scale), output(positions.computed_scales), output(positions.computed_zps)};
    wait_for(f, c.op, stream);
    prefix_errors(c.op, [&] { c.prepared.run(args); });
}

} // namespace dynquant::graph::core
