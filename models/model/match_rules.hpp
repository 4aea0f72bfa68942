// What the steps of a layer ask of a node.
#pragma once

#include <span>

#include "model/match.hpp"

namespace dynquant::models {

/// A node that may be the next of a layer, and what has come before it.
struct candidate {
    const graph &g;
    const node &n;
    const std::string &value; // that comes from the node before, and that no other node takes
    std::size_t channel_axis;

    const tensor_type &type_of(const std::string &name) const { return g.value_types.at(name); }
    const tensor_type &output() const { return type_of(n.outputs.front()); }
    /// The constant that an input is, or null.
    const tensor *constant(std::size_t input) const;
};

using reason = std::optional<std::string>;

/// A step: nodes of which operators it takes, and what keeps one of them from it. Where nothing does, accept() notes in
/// the layer what the node says.
struct step_rule {
    std::span<const char *const> operators;
    reason (*accept)(const candidate &c, layer &l);
};

extern const step_rule adds_bias, casts_to_float, multiplies, relu, quantizes_rescaled, dequantizes, casts_to_half,
        is_function, casts_from_half, quantizes_result;

} // namespace dynquant::models
