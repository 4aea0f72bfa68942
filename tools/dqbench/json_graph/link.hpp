#pragma once

#include "json_graph/rewrite.hpp"

namespace dqbench::json_graph {

/// What depends on the new shapes and attributes of a DynamicQuantize or DynamicDequantize follows them, as in
/// benchdnn:
/// - a new shape of src, scales or zps, without a new group_shape, gives per_group a new group_shape: src / scales;
/// - a new group_shape, qtype, axis or mask, or dims of src, gives scales and zps that are not given new dims.
/// `by_minibatch`: scales by group keep pace with src along dim 0. Throws usage_error where the dims do not divide, and
/// where two ops give a tensor different dims. What has no effect becomes a note.
void link(const graph &as_written, const new_shapes &shapes, const new_attributes &attributes, bool by_minibatch,
        graph &g);

} // namespace dqbench::json_graph
