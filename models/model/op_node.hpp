// A node with its schema and inputs, and accessors that throw error for values that break the specification.
#pragma once

#include "model/graph.hpp"
#include "model/op_schema.hpp"
#include "model/refusal.hpp"

namespace dynquant::models {

struct op_node {
    const node &given;
    const op_schema &schema;
    std::int64_t opset;
    std::vector<const tensor_type *> inputs; // null: omitted
    std::vector<const tensor *> constants;   // null: not constant

    bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
    const tensor_type &at(std::size_t input) const { return *inputs[input]; }
    const dims &shape(std::size_t input) const { return inputs[input]->shape; }

    /// "B 'w1'": the specification's name and the value's.
    std::string name(std::size_t input) const;

    /// The value of an input. Throws error unless it is an initializer.
    const tensor &constant(std::size_t input) const;

    /// The value of an attribute, or the default where the node omits it. Precondition: the schema states this kind.
    std::int64_t integer(const char *attribute, std::int64_t default_value) const;
    float real(const char *attribute, float default_value) const;
    std::string text(const char *attribute, const char *default_value) const;
    std::vector<std::int64_t> integers(const char *attribute, const std::vector<std::int64_t> &default_value) const;

    /// Converts an axis in [-rank, rank - 1], or [-rank, rank] with `end`, to a non-negative one. Throws error for
    /// others.
    std::size_t axis(const char *attribute, std::int64_t given_axis, std::size_t rank, bool end = false) const;

    template <typename... Parts>
    [[noreturn]] void refuse(dynquant::status status, const Parts &...parts) const {
        models::refuse(given, status, parts...);
    }
};

/// Checks the node's operator, opset, inputs and their types, outputs, and attributes. Throws error.
op_node check(const graph &g, const node &n);

} // namespace dynquant::models
