// The conditions that a node must meet for each step of a layer.
#pragma once

#include <span>

#include "model/match.hpp"

namespace dynquant::models {

/// A node that may be the next of a layer.
struct candidate {
    const graph &g;
    const node &n;
    const std::string &value; // the output of the previous node; n is its only user
    std::size_t channel_axis;

    const tensor_type &type_of(const std::string &name) const { return g.value_types.at(name); }
    const tensor_type &output() const { return type_of(n.outputs.front()); }
    /// The initializer of an input, or null.
    const tensor *constant(std::size_t input) const;
};

using reason = std::optional<std::string>;

/// A step: its operators, and accept(), which returns why a node does not fit. For a node that fits, accept() records
/// its parameters in the layer.
struct step_rule {
    std::span<const char *const> operators;
    reason (*accept)(const candidate &c, layer &l);
};

extern const step_rule bias_rule, cast_to_float_rule, multiplier_rule, relu_rule, rescaled_rule, dequantize_rule,
        cast_to_float16_rule, function_rule, cast_from_float16_rule, result_rule;

} // namespace dynquant::models
