// A model as data: what its file says, whole and in order, but not yet looked at for what it means.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dynquant/onnx.hpp"

namespace dynquant::models {

struct tensor_type {
    onnx::element_type type = 0;
    dims shape;

    bool operator==(const tensor_type &) const = default;
};

/// Elements dense and row-major, little endian; those of less than a byte packed as in dynquant::onnx.
struct tensor {
    tensor_type what;
    std::vector<std::byte> data;

    bool operator==(const tensor &) const = default;
};

struct attribute {
    /// Of a kind that no operator here has: a number of AttributeProto.AttributeType.
    struct other {
        std::int32_t type;
        bool operator==(const other &) const = default;
    };

    std::string name;
    std::variant<std::int64_t, float, std::string, tensor, std::vector<std::int64_t>, std::vector<float>, other> value;

    bool operator==(const attribute &) const = default;
};

struct node {
    std::string op_type;
    std::string domain = {}; // "" where the file says "ai.onnx"
    std::string name = {};   // may be empty
    /// Names of values; empty where an optional one is left out.
    std::vector<std::string> inputs = {}, outputs = {};
    std::vector<attribute> attributes = {};

    bool operator==(const node &) const = default;
};

/// An extent that the file leaves open.
inline constexpr std::int64_t free_extent = -1;

/// An input or an output of the graph. Without a shape its rank is open, too.
struct port {
    std::string name;
    onnx::element_type type = 0;
    std::optional<dims> shape = {};
    /// Of extents that are left open: those of one name are alike. "" is none; so are all where there are no names.
    std::vector<std::string> names = {};

    bool operator==(const port &) const = default;
};

struct graph {
    std::string name = {};
    std::map<std::string, std::int64_t> opsets = {};     // by domain
    std::vector<node> nodes = {};                        // each after those whose outputs it takes
    std::map<std::string, tensor> initializers = {};     // constant values, by name
    std::vector<port> inputs = {}, outputs = {};         // an input that is an initializer as well is no input here
    std::map<std::string, tensor_type> value_types = {}; // of all values, by name: what infer() has found

    bool operator==(const graph &) const = default;
};

/// "node 'fc1' (MatMulInteger)", or "node of 'y' (MatMulInteger)" for one that has no name.
std::string label(const node &n);

/// Bits of an element, or nothing for a type whose elements are not all of one size, or that is not known.
std::optional<int> bits_in(onnx::element_type type);

/// Bytes of a tensor, or nothing when it has none or too many to count.
std::optional<std::int64_t> size_in_bytes(const tensor_type &what);

/// Throws error where nodes have operators that are not among the known ones of ONNX's domain: it names all of them.
void check_operators(const graph &g, const std::vector<std::string> &known);

/// Brings the nodes into an order in which each comes after those whose outputs it takes; those that are stay as they
/// are. Throws error for a value that nothing computes or more than one node does, and for nodes in a cycle.
void order(graph &g);

/// Turns nodes of Constant into initializers. Throws error for one that is no tensor of numbers.
void inline_constants(graph &g);

} // namespace dynquant::models
