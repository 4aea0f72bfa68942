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

extern const step_rule adds_bias, casts_to_float, multiplies, relu, quantizes_rescaled, dequantizes, casts_to_half,
        is_function, casts_from_half, quantizes_result;

} // namespace dynquant::models
