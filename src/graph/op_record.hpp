// src/graph: ops of oneDNN Graph, their checks, partitioning, compilation and execution. libdynquant and the drop-in
// (src/onednn_graph) are both built from it. It includes public headers, parallel, quantization, kernels/kernels.hpp
// and oneDNN's C headers. Start with op_schema.hpp, the table of ops, then graph.cpp and compiled_op.cpp.
//
// This file: the state behind the handles of dynquant/graph.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynquant/graph.hpp"
#include "elements/copyable_variant.hpp"
#include "graph/onednn.hpp"
#include "kernels/kernels.hpp"

namespace dynquant::graph::core {

using c_logical_tensor = dnnl_graph_logical_tensor_t;

/// A single number is a list of one, as in oneDNN's C API.
using attribute_value = copyable_variant<std::vector<std::int64_t>, std::vector<float>, bool, std::string>;

struct op_record {
    size_t id;
    dnnl_graph_op_kind_t kind;
    std::string name;
    std::vector<c_logical_tensor> inputs;
    std::vector<c_logical_tensor> outputs;
    std::map<dnnl_graph_op_attr_t, attribute_value> attributes;
    bool is_left_to_onednn = false; // refused by the checks of this family, so that nothing relies on its ports
};

/// A use of a logical tensor by an op of a graph.
struct port {
    const op_record *op;
    std::string name;
    const c_logical_tensor *described;
    bool is_output;
};

using logical_tensors = std::span<const c_logical_tensor>;
using tensors = std::span<const const_dnnl_graph_tensor_t>;

/// What dynquant has compiled. Immutable: many threads may execute it at once.
class compiled {
  public:
    compiled() = default;
    compiled(const compiled &) = delete;
    compiled &operator=(const compiled &) = delete;
    virtual ~compiled() = default;

    /// What messages call it.
    virtual std::string label() const = 0;
    /// The final logical tensor with that id, or nullptr.
    virtual const c_logical_tensor *find_port(size_t id) const = 0;
    virtual operation_info info() const = 0;
    /// Runs synchronously. The tensors are matched by position to the lists given to compile; a null tensor counts as
    /// one with a null buffer.
    virtual void execute(dnnl_stream_t stream, tensors inputs, tensors outputs) const = 0;
};

/// The ops of a partition that dynquant compiles. Immutable.
class claimed {
  public:
    claimed() = default;
    claimed(const claimed &) = delete;
    claimed &operator=(const claimed &) = delete;
    virtual ~claimed() = default;

    virtual std::string label() const = 0;
    virtual std::vector<size_t> ids() const = 0;
    virtual const std::vector<c_logical_tensor> &inputs() const = 0;
    virtual const std::vector<c_logical_tensor> &outputs() const = 0;
    /// Compiles with the first kernel that supports it. Ports are first replaced by the logical tensors of the lists
    /// with the same ids; throws if an op is then invalid.
    virtual std::unique_ptr<const compiled> compile(logical_tensors inputs, logical_tensors outputs,
            dnnl_fpmath_mode_t mode, kernels::kernel_list kernels) const = 0;
};

/// What dynquant claims, or one of oneDNN's partitions.
struct partition_record {
    size_t id = 0;
    std::vector<size_t> ops = {}; // ids
    std::vector<c_logical_tensor> inputs = {}, outputs = {};
    bool supported = false;
    std::shared_ptr<const claimed> by_dynquant = {}; // or null
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    onednn_partition by_onednn = {}; // null if all ops are of this family, or oneDNN cannot compile it
};

struct graph_record {
    dnnl_fpmath_mode_t mode;
    bool apply_to_int = false;
    bool finalized = false;
    /// Snapshots, in the order of add_op; once finalized, producers before consumers.
    std::vector<std::shared_ptr<const op_record>> ops = {};
    std::multimap<size_t, port> ports = {}; // by logical tensor id
    onednn_graph by_onednn = {};            // null while all ops are of this family
    std::vector<partition_record> found = {};
};

/// Compiled either by dynquant (`by_dynquant`) or by oneDNN (`by_onednn`).
struct compiled_partition_record {
    std::string label;
    std::unique_ptr<const compiled> by_dynquant;
    onednn_compiled_partition by_onednn;
};

} // namespace dynquant::graph::core
