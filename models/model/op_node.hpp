// A node with what is known of its inputs, and questions to it whose wrong answers are errors.
#pragma once

#include "model/graph.hpp"
#include "model/op_schema.hpp"
#include "model/refusal.hpp"

namespace dynquant::models {

struct op_node {
    const node &given;
    const op_schema &schema;
    std::int64_t opset;
    std::vector<const tensor_type *> inputs; // null: left out
    std::vector<const tensor *> constants;   // null: not constant

    bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
    const tensor_type &at(std::size_t input) const { return *inputs[input]; }
    const dims &shape(std::size_t input) const { return inputs[input]->shape; }

    /// "B 'w1'": the specification's name and the value's.
    std::string name(std::size_t input) const;

    /// The value of an input, which must be known beforehand.
    const tensor &constant(std::size_t input) const;

    /// Attributes, of the kind that the schema states, or what stands for one that is left out.
    std::int64_t integer(const char *attribute, std::int64_t otherwise) const;
    float real(const char *attribute, float otherwise) const;
    std::string text(const char *attribute, const char *otherwise) const;
    std::vector<std::int64_t> integers(const char *attribute, const std::vector<std::int64_t> &otherwise) const;

    /// An axis of [-rank, rank - 1], or of [-rank, rank] where `end` is allowed, as one of 0 or more.
    std::size_t axis(const char *attribute, std::int64_t given_axis, std::size_t rank, bool end = false) const;

    template <typename... Parts>
    [[noreturn]] void refuse(dnnl_status_t status, const Parts &...parts) const {
        models::refuse(given, status, parts...);
    }
};

/// Checks the node's operator, opset, inputs and their types, outputs, and attributes. Throws error.
op_node check(const graph &g, const node &n);

} // namespace dynquant::models
