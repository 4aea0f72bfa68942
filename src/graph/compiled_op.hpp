// One op of this family, compiled: what both a graph's partitions and the drop-in's run.
#pragma once

#include <span>

#include "graph/op_record.hpp"
#include "kernels/kernels.hpp"

namespace dynquant::graph::core {

/// By the first of the kernels that can. Throws what is wrong with the op once its ports are those of the lists, which
/// are matched by id.
compiled_op compile(const op_record &described, std::span<const c_logical_tensor> inputs,
        std::span<const c_logical_tensor> outputs, dnnl_fpmath_mode_t mode, kernels::kernel_list kernels);

/// The op's final logical tensor of that id, or nullptr.
const c_logical_tensor *find_port(const compiled_op &c, size_t id);

/// What oneDNN answers for an id that a compiled partition does not have.
c_logical_tensor no_logical_tensor();

/// What an op that needs no scratchpad answers.
c_logical_tensor no_scratchpad();

/// Runs synchronously; the tensors are those of the lists that compile was given. Null ones have no handle.
void execute(const compiled_op &c, dnnl_stream_t stream, std::span<const const_dnnl_graph_tensor_t> inputs,
        std::span<const const_dnnl_graph_tensor_t> outputs);

} // namespace dynquant::graph::core
