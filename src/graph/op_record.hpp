// What a program says of an op, and what a graph, a partition and a compiled partition remember.
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

/// An op of this family, claimed, or what oneDNN made of one or more ops.
struct partition_record {
    size_t id = 0;
    std::vector<size_t> ops = {}; // ids
    std::vector<c_logical_tensor> inputs = {}, outputs = {};
    bool supported = false;
    std::shared_ptr<const op_record> op = {}; // claimed
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    onednn_partition by_onednn = {}; // null in a graph of this family alone, and where oneDNN could not compile it
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

/// How many tensors compile was given, and where among them the op's own are.
struct tensor_positions {
    static constexpr size_t none = static_cast<size_t>(-1);
    size_t input_count, output_count;
    size_t src, scales, zps, dst;
};

struct compiled_op {
    op_record op; // with final ports
    tensor_positions at;
    operation prepared;
};

/// Either ours or oneDNN's.
struct compiled_partition_record {
    std::string label;
    std::optional<compiled_op> ours;
    onednn_compiled_partition by_onednn;
};

} // namespace dynquant::graph::core
