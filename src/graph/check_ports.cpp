// Checks of a single port.
#include <algorithm>

#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"
#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

struct port_check {
    const op_record &op;
    const port_schema &schema;
    const c_logical_tensor &t;
    bool is_output;
    stage when;

    bool is_final_input() const { return when == stage::compile && !is_output; }

    template <typename... Parts>
    [[noreturn]] void refuse(dnnl_status_t status, const Parts &...parts) const {
        core::refuse(op, status, schema.name, ": expected ", parts...);
    }

    void data_type() const {
        if (t.data_type == dnnl_data_type_undef && when == stage::add_op) return;
        if (std::ranges::find(schema.types, t.data_type) == schema.types.end())
            refuse(dnnl_invalid_data_type, "data type ", alternatives(schema.types, name_of), ", given ",
                    name_of(t.data_type));
    }

    void rank() const {
        if (rank_known(t) && (t.ndims < 0 || t.ndims > max_rank))
            refuse(dnnl_invalid_shape, "rank 0 to ", max_rank, ", given ", t.ndims);
    }

    void dims() const {
        if (is_final_input() && !dims_known(t)) refuse(dnnl_invalid_shape, "known dims, given ", describe_dims(t));
        if (!rank_known(t)) return;
        for (int d = 0; d < t.ndims; ++d)
            if (t.dims[d] < 0 && t.dims[d] != unknown)
                refuse(dnnl_invalid_shape, "dims of 0 or more, given ", t.dims[d], " at dim ", d);
    }

    void layout() const {
        const bool strided = t.layout_type == dnnl_graph_layout_type_strided;
        if (is_final_input() && !strided)
            refuse_as<opaque_layout>(op, dnnl_invalid_arguments, schema.name, ": expected layout strided, given ",
                    to_string(t.layout_type));
        if (when == stage::compile && t.layout_type == dnnl_graph_layout_type_opaque)
            refuse(dnnl_invalid_arguments, "layout strided or any, given opaque");
        if (!strided || !rank_known(t)) return;
        for (int d = 0; d < t.ndims; ++d)
            if (t.layout.strides[d] < 0 && t.layout.strides[d] != unknown)
                refuse(dnnl_invalid_shape, "strides of 0 or more, given ", t.layout.strides[d], " at dim ", d);
        if (is_final_input() && !strides_known(t)) refuse(dnnl_invalid_shape, "known strides, given unknown ones");
        const auto strides = strides_of(t);
        const auto unknowns = std::ranges::count(strides, unknown);
        if (when == stage::compile && unknowns != 0 && unknowns != t.ndims)
            refuse(dnnl_invalid_shape, "all strides or none, given ", t.ndims - unknowns, " of ", t.ndims);
    }
};

} // namespace

void check_port(const op_record &op, const port_schema &schema, const c_logical_tensor &t, bool is_output, stage when) {
    const port_check check {op, schema, t, is_output, when};
    check.data_type();
    check.rank();
    check.dims();
    check.layout();
}

} // namespace dynquant::graph::core
