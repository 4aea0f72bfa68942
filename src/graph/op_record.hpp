// What a program says of an op, and what a graph, a partition and a compiled partition remember.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "dynquant/graph.hpp"

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
    const char *name;
    const c_logical_tensor *described;
    bool is_output;
};

struct graph_record {
    dnnl_fpmath_mode_t mode;
    bool apply_to_int = false;
    bool finalized = false;
    /// Snapshots, in the order of add_op; once finalized, producers before consumers.
    std::vector<std::shared_ptr<const op_record>> ops = {};
    std::multimap<size_t, port> ports = {}; // by logical tensor id
};

struct partition_record {
    size_t id;
    std::shared_ptr<const op_record> op;
    dnnl_fpmath_mode_t mode;
};

struct compiled_partition_record {
    /// How many tensors compile was given, and where among them the op's own are.
    struct positions {
        static constexpr size_t none = static_cast<size_t>(-1);
        size_t input_count, output_count;
        size_t src, scales, zps, dst;
    };

    op_record op; // with final ports
    positions at;
    operation prepared;
};

} // namespace dynquant::graph::core
