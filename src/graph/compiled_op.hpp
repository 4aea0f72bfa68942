// A compiled op of this family. The partitions of libdynquant and of the drop-in both run it.
#pragma once

#include <span>

#include "graph/op_record.hpp"
#include "kernels/kernels.hpp"

namespace dynquant::graph::core {

/// Compiles with the first kernel that supports the op. Ports are first replaced by the logical tensors of the lists
/// with the same ids; throws if the op is then invalid.
compiled_op compile(const op_record &described, std::span<const c_logical_tensor> inputs,
        std::span<const c_logical_tensor> outputs, dnnl_fpmath_mode_t mode, kernels::kernel_list kernels);

/// The op's final logical tensor with that id, or nullptr.
const c_logical_tensor *find_port(const compiled_op &c, size_t id);

/// oneDNN's answer for an id that a compiled partition does not have.
c_logical_tensor no_logical_tensor();

/// The scratchpad of an op that needs none.
c_logical_tensor no_scratchpad();

/// Runs synchronously. The tensors are matched by position to the lists given to compile; a null tensor counts as one
/// with a null buffer.
void execute(const compiled_op &c, dnnl_stream_t stream, std::span<const const_dnnl_graph_tensor_t> inputs,
        std::span<const const_dnnl_graph_tensor_t> outputs);

} // namespace dynquant::graph::core
