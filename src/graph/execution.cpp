#include "graph/execution.hpp"

#include <algorithm>
#include <limits>

#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"
#include "parallel/parallel.hpp"
#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

void check_stream(const onednn_functions &f, const std::string &what, dnnl_stream_t stream) {
    dnnl_engine_t engine = nullptr;
    dnnl_engine_kind_t kind = dnnl_any_engine;
    if (f.stream_get_engine(stream, &engine) != dnnl_success || f.engine_get_kind(engine, &kind) != dnnl_success)
        refuse(what, dnnl_invalid_arguments, "stream: expected one with an engine, given none");
    if (kind != dnnl_cpu) require_cpu(what + ": stream", kind);
}

/// Waits for earlier work on the stream, which may still write the inputs.
void wait_for(const onednn_functions &f, const std::string &what, dnnl_stream_t stream) {
    static const bool synchronous = is_synchronous(f.version()->cpu_runtime);
    if (synchronous) return;
    const auto status = f.stream_wait(stream);
    if (status != dnnl_success)
        refuse(what, status, "stream: expected one that can be waited for, given ", f.status2str(status));
}

void check_count(const std::string &what, const char *list, size_t expected, size_t given) {
    if (given != expected)
        refuse(what, dnnl_invalid_arguments, list, ": expected ", expected, expected == 1 ? " tensor" : " tensors",
                ", as compile was given, given ", given);
}

} // namespace

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

void set_final_shape(c_logical_tensor &t, const dims &extents, const dims &strides) {
    t.ndims = static_cast<int>(extents.size());
    t.layout_type = dnnl_graph_layout_type_strided;
    std::ranges::copy(extents, t.dims);
    std::ranges::copy(strides, t.layout.strides);
}

const onednn_functions &begin_execution(
        const std::string &what, dnnl_stream_t stream, tensor_counts expected, tensor_counts given) {
    const auto &f = onednn(); // once: a call takes 12 instructions
    check_stream(f, what, stream);
    check_count(what, "inputs", expected.inputs, given.inputs);
    check_count(what, "outputs", expected.outputs, given.outputs);
    wait_for(f, what, stream);
    return f;
}

void share_threads_with_onednn() {
    if (onednn().version()->cpu_runtime == DNNL_RUNTIME_OMP)
        parallel::run_on_openmp(reinterpret_cast<const void *>(onednn().version));
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

} // namespace dynquant::graph::core
