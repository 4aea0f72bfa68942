// A session's graph as plain values: what the execution provider reads of it.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dynquant/onnx.hpp"
#include "onnxruntime_ep/session_initializers.hpp"

namespace dynquant::onnxruntime_ep {

/// An index of a node or a value; `none` stands for an optional input that is left out.
inline constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// An initializer that no run can replace. Its data lives as long as the OrtGraph.
struct constant {
    onnx::element_type type;
    dims shape;
    const std::byte *data;
};

struct value {
    std::string name;
    onnx::element_type type = 0;             // 0: no tensor, or unknown
    dims shape;                              // an extent of -1 is known at run time only; {} where the rank is, too
    std::optional<constant> known;           // of a constant
    bool is_replaced = false;                // a constant whose value is the session's and cannot be read
    std::size_t producer = none;             // the node that gives it
    std::vector<std::size_t> consumers = {}; // nodes that take it, once for each input
    bool is_seen_outside = false;            // an output of the graph, or taken by a subgraph

    bool is_constant() const { return known || is_replaced; }
};

using attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>;

struct node {
    const OrtNode *handle = nullptr;
    std::string name, op_type, domain;
    int since_version = 0;
    std::vector<std::size_t> inputs, outputs;         // values
    std::map<std::string, attribute> attributes = {}; // of other types than `attribute` holds: left out

    bool is(const char *type) const { return domain.empty() && op_type == type; }

    /// Whether input `i` is there.
    bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != none; }

    template <typename T>
    T get(const char *attribute_name, T otherwise) const {
        const auto found = attributes.find(attribute_name);
        if (found == attributes.end()) return otherwise;
        const auto *held = std::get_if<T>(&found->second);
        return held ? *held : otherwise;
    }
};

/// 'name' (type), in one line. Quotes and backslashes of the name stand behind a backslash.
std::string describe(const node &n);

struct graph {
    std::vector<node> nodes; // in an order in which they can run
    std::vector<value> values;

    const value &input(const node &n, std::size_t i) const { return values[n.inputs[i]]; }
    const value &output(const node &n) const { return values[n.outputs.front()]; }
};

/// The nodes of a graph, without those of its subgraphs, each of which is a graph of its own to ONNX Runtime.
graph read_graph(const OrtApi &api, const OrtGraph &from, session_initializers &initializers);

/// The names of a node's inputs, or of its outputs, in order; "" for one that is left out.
std::vector<std::string> input_names(const OrtApi &api, const OrtNode &n);
std::vector<std::string> output_names(const OrtApi &api, const OrtNode &n);

} // namespace dynquant::onnxruntime_ep
