// Walking from a product along the nodes that may belong to its layer.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "layers/match/matcher.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {

/// What stays the same along a layer: the graph, the product from which the layer starts, and what is known of its
/// sums.
struct start {
    const graph &g;
    const std::vector<bool> &is_taken;
    const node &product;
    bool is_convolution = product.is(op::conv_integer, op::conv);
    const node *by_rows = nullptr;        // quantizes x, with a scale for each row
    std::int64_t channels = 0;            // of the sums
    std::optional<std::size_t> rank = {}; // of the sums, where it is known
    bool has_tables = false;              // activations are tables, or no part of a layer
    /// It is to be one node with other layers, and a tensor that it adds may be made of what they give; or it has
    /// several matrices.
    bool adds_no_tensor = false;
};

/// A cursor stands at a value behind the product. It answers what the graph has there, and changes nothing.
struct cursor {
    const start *from = nullptr;
    std::size_t y = none;
    bool adds_tensor = false; // the layer does already

    const graph &g() const { return from->g; }
    const value &here() const { return g().values[y]; }

    /// Whether no other layer has a node.
    bool is_free(std::size_t n) const { return !from->is_taken[n]; }

    /// Returns the only node that takes the value, or null.
    const node *next() const { return why_no_next().empty() ? &g().nodes[here().consumers.front()] : nullptr; }

    std::string why_no_next() const {
        const auto &v = here();
        const auto count = v.consumers.size();
        if (v.is_seen_outside)
            return concat("value '", v.name, "' is ", count == 0 ? "" : "also ", "an output of the graph");
        if (count != 1) return concat("value '", v.name, "': expected one node that takes it, given ", count);
        if (is_free(v.consumers.front())) return {};
        return concat(label(g(), g().nodes[v.consumers.front()]), ": belongs to another layer");
    }

    cursor moved_to(std::size_t value) const { return {from, value, adds_tensor}; }

    std::size_t other_input(const node &n) const { return n.inputs[n.inputs.front() == y ? 1 : 0]; }

    /// Returns whether a value is one element, of no more dimensions than the sums. The layer receives it where it is
    /// no constant.
    bool is_x_scale(std::size_t index) const {
        if (from->by_rows) return index == from->by_rows->outputs[1];
        const auto &v = g().values[index];
        return !v.is_replaced && v.shape && v.shape->size() <= from->rank.value_or(1)
                && std::ranges::all_of(*v.shape, [](std::int64_t extent) { return extent == 1; });
    }

    /// Says why a value is none that broadcasts to the sums without changing their shape, one or one for each channel;
    /// "" where it is.
    std::string why_not_by_channel(std::size_t index, data_type expected) const {
        const auto &v = g().values[index];
        if (!v.known) return concat("expected a constant beside '", here().name, "', given '", v.name, "'");
        if (v.known->type != expected)
            return concat("'", v.name, "': expected type ", name_of(expected), ", given ", name_of(v.known->type));
        const auto &given = v.known->shape;
        if (const auto rank = from->rank.value_or(1); given.size() <= rank) {
            // The channel is the second dimension of a convolution's sums and the last one of a product's.
            const auto behind = from->is_convolution ? rank - 2 : 0;
            dims of_channels(given.size(), 1);
            if (given.size() > behind) of_channels[given.size() - 1 - behind] = from->channels;
            if (volume(given) == 1 || given == of_channels) return {};
        }
        return concat("'", v.name, "': expected one value, or one for each channel of ",
                here().shape ? concat("shape ", to_string(*here().shape)) : "an unknown shape", ", given shape ",
                to_string(given));
    }
};

/// Adds what comes next to a layer, or says in its `end` why there is nothing. Returns whether there is.
inline bool go_on(layer_part &layer, layer_part next) {
    layer.end = std::move(next.end);
    if (!layer.end.empty()) return false;
    layer.nodes.insert(layer.nodes.end(), next.nodes.begin(), next.nodes.end());
    layer.y = next.y;
    if (!next.bias.empty()) layer.bias = std::move(next.bias);
    std::ranges::move(next.post_ops, std::back_inserter(layer.post_ops));
    if (next.x_scale != none) layer.x_scale = next.x_scale;
    if (next.tensor != none) layer.tensor = next.tensor;
    if (next.normalization) layer.normalization = std::move(next.normalization);
    if (next.before != none) layer.before = next.before;
    return true;
}

inline layer_part over(const cursor &c, const node &n, std::vector<post_op> steps = {}) {
    return {.nodes = {static_cast<std::size_t>(&n - c.g().nodes.data())},
            .y = n.outputs.front(),
            .post_ops = std::move(steps)};
}

template <typename... Parts>
layer_part ends(const Parts &...parts) {
    return {.end = concat(parts...)};
}

template <typename... Parts>
layer_part ends_at(const cursor &c, const node &n, const Parts &...parts) {
    return ends(label(c.g(), n), ": ", parts...);
}

/// Says that nothing is next, or another operator than expected.
inline layer_part ends_before(const cursor &c, const char *expected) {
    const auto *n = c.next();
    return n ? ends("after '", c.here().name, "' expected ", expected, ", given ", label(c.g(), *n))
             : ends(c.why_no_next());
}

inline layer_part ends_at_result(const cursor &c, const node &n, const char *expected) {
    return ends_at(c, n, "expected a result of ", expected, ", given ", name_of(c.g().output(n).type));
}

inline layer_part ends_at_inputs(const cursor &c, const node &n) {
    return ends_at(c, n, "expected '", c.here().name, "' as its first input");
}

/// Whether a value is floats that broadcast to the sums, or may do so, as it has the columns of a product whose rows
/// are known when it runs.
inline bool is_summand(const cursor &c, const value &v) {
    const auto &sums = c.g().output(c.from->product).shape;
    if (!v.is_summand || v.type != data_type::f32 || !v.shape || c.from->adds_no_tensor) return false;
    if (is_known(v.shape) && is_known(sums)) return broadcast_shape(*v.shape, *sums) == sums;
    if (c.from->is_convolution || v.shape->empty() || v.shape->back() != c.from->channels) return false;
    if (!sums) return true;
    // Rows that the sums surely lack would have to be computed more than once.
    if (v.shape->size() > sums->size()) return false;
    return std::equal(v.shape->rbegin() + 1, v.shape->rend(), sums->rbegin() + 1,
            [](std::int64_t given, std::int64_t of_sums) { return of_sums != 1 || given == 1; });
}

} // namespace dynquant::layers::match
