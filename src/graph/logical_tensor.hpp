// Access to oneDNN's logical tensors, whose rank, dims and strides may be unknown.
#pragma once

#include <optional>

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

inline constexpr std::int64_t unknown = DNNL_GRAPH_UNKNOWN_DIM;

inline bool rank_known(const c_logical_tensor &t) {
    return t.ndims != DNNL_GRAPH_UNKNOWN_NDIMS;
}

/// Whether rank and every dim are known.
bool dims_known(const c_logical_tensor &t);

/// Whether layout is strided, and rank and every stride are known.
bool strides_known(const c_logical_tensor &t);

/// Each dim, known or not. The rank must be known.
dims dims_of(const c_logical_tensor &t);
dims strides_of(const c_logical_tensor &t);

/// The data type must be one of dynquant's, of at least 8 bits.
size_t bytes_of_element(const c_logical_tensor &t);

/// 2x?x3; "scalar"; "?" when the rank is unknown.
std::string describe_dims(const c_logical_tensor &t);

const char *to_string(dnnl_graph_layout_type_t layout);

/// A property in which two descriptions of one tensor differ. find_contradiction: nothing if they are compatible.
struct contradiction {
    dnnl_status_t status;
    std::string what, first, second; // "data type", "f32", "s8"
};
std::optional<contradiction> find_contradiction(const c_logical_tensor &a, const c_logical_tensor &b);

/// `t` with unknown rank or dims taken from `other`.
c_logical_tensor with_dims_from(c_logical_tensor t, const c_logical_tensor &other);

/// Dense strides that keep a dense tensor's order of dims (nhwc stays nhwc); for any other tensor none,
/// which stands for row-major.
dims dense_strides_like(const dynquant::tensor &t);

} // namespace dynquant::graph::core
