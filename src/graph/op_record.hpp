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

} // namespace dynquant::graph::core
