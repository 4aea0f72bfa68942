// src/graph: ops of oneDNN Graph, their checks, partitioning, compilation and execution. libdynquant and the drop-in
// (src/onednn_graph) are both built from it. It includes public headers, parallel, quantization, kernels/kernels.hpp
// and oneDNN's C headers. Start with op_schema.hpp, the table of ops, then graph.cpp and compiled_op.cpp.
//
// This file: the state behind the handles of dynquant/graph.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dynquant/graph.hpp"
#include "graph/onednn.hpp"

namespace dynquant::graph::core {

using c_logical_tensor = dnnl_graph_logical_tensor_t;

/// A single number is a list of one, as in oneDNN's C API.
using attribute_value = std::variant<std::vector<std::int64_t>, std::vector<float>, bool, std::string>;

struct op_record {
    size_t id;
    dnnl_graph_op_kind_t kind;
    std::string name;
    std::vector<c_logical_tensor> inputs;
    std::vector<c_logical_tensor> outputs;
    std::map<dnnl_graph_op_attr_t, attribute_value> attributes;
};

/// A use of a logical tensor by an op of a graph.
struct port {
    const op_record *op;
    std::string name;
    const c_logical_tensor *described;
    bool is_output;
};

/// A claimed op of this family, or one of oneDNN's partitions.
struct partition_record {
    size_t id = 0;
    std::vector<size_t> ops = {}; // ids
    std::vector<c_logical_tensor> inputs = {}, outputs = {};
    bool supported = false;
    std::shared_ptr<const op_record> op = {}; // the claimed op, or null
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

/// The numbers of tensors that compile was given, and the positions of the op's ports among them.
struct tensor_positions {
    static constexpr size_t none = static_cast<size_t>(-1);
    size_t input_count, output_count;
    size_t src = none, scales = none, zps = none, global_scale = none, dst = none;
    size_t computed_scales = none, computed_zps = none;
};

struct compiled_op {
    op_record op; // with final ports
    tensor_positions positions;
    operation prepared;
};

/// Compiled either by dynquant (`by_dynquant`) or by oneDNN (`by_onednn`).
struct compiled_partition_record {
    std::string label;
    std::optional<compiled_op> by_dynquant;
    onednn_compiled_partition by_onednn;
};

} // namespace dynquant::graph::core
