#include "json_graph/rewrite.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "json_graph/names.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"
#include "vocabulary.hpp"

namespace dqbench::json_graph {

using dynquant::concat;

namespace {

/// Calls f(id, value) for each ID:VALUE between plus signs.
template <typename F>
void for_each_entry(std::string_view text, F f) {
    if (text.empty()) return; // as in benchdnn: rewrites nothing
    for (const auto &entry : split(text, '+')) {
        const auto colon = entry.find(':');
        if (colon == entry.npos || colon + 1 == entry.size())
            throw usage_error(concat("expected ID:VALUE, given '", entry, "'"));
        const auto id = parse_id(std::string_view(entry).substr(0, colon));
        if (!f(id, std::string_view(entry).substr(colon + 1)))
            throw usage_error(concat("expected each id once, given ", id, " again"));
    }
}

layout parse_strides(std::string_view text) {
    if (text.empty() || text == "any")
        throw usage_error(concat("expected strides or a tag such as acdb, given '", text, "'"));
    const bool digits = text.find_first_not_of("0123456789x") == text.npos;
    return layout::parse(digits ? concat("strides:", text) : std::string(text));
}

new_shape parse_shape(std::string_view text) {
    const auto star = text.find('*');
    const auto extents = text.substr(0, star);
    new_shape result;
    if (extents == "-")
        result.extents.emplace();
    else if (!extents.empty())
        result.extents = parse_dims(extents);
    if (star != text.npos) result.layout = parse_strides(text.substr(star + 1));
    return result;
}

std::map<std::string, std::string> parse_values(std::string_view text) {
    std::map<std::string, std::string> result;
    for (const auto &entry : split(text, '*')) {
        const auto colon = entry.find(':');
        if (colon == entry.npos || colon == 0 || colon + 1 == entry.size())
            throw usage_error(concat("expected NAME:VALUE, given '", entry, "'"));
        result[entry.substr(0, colon)] = entry.substr(colon + 1);
    }
    return result;
}

void reshape(tensor &t, const new_shape &given) {
    if (given.extents) t.extents = given.extents;
    if (!t.extents) throw usage_error(concat("tensor ", t.id, ": expected a shape, since its own is unknown"));
    t.layout = "strided";
    t.strides = given.layout.strides_for(*t.extents);
}

/// For each tensor the supported ops whose src it is.
std::multimap<std::uint64_t, op *> readers_of_src(graph &g) {
    std::multimap<std::uint64_t, op *> readers;
    for (auto &each : g.ops)
        if (each.supported_kind) readers.emplace(each.inputs.front().id, &each);
    return readers;
}

/// Propagates shapes from src to dst and to the ops that read dst. Ends even in a cycle: it stops where nothing
/// changes.
void propagate_shapes(graph &g, std::deque<op *> changed) {
    const auto readers = readers_of_src(g);
    while (!changed.empty()) {
        auto &from = *changed.front();
        changed.pop_front();
        auto &dst = from.outputs.front();
        const auto &extents = from.inputs.front().extents;
        if (dst.extents == extents) continue;
        dst.strides = strides_in_order_of(dst, *extents);
        dst.extents = extents;
        const auto [first, last] = readers.equal_range(dst.id);
        for (auto next = first; next != last; ++next) {
            next->second->inputs.front() = dst;
            changed.push_back(next->second);
        }
    }
}

/// Whether the new dims differ in dim 0 alone, whose stride is beyond all elements of the other dims.
bool differ_in_outermost_dim_0(const tensor &old, const dynquant::dims &extents) {
    if (extents.empty() || !old.extents || old.extents->size() != extents.size()) return false;
    std::int64_t last = 0;
    for (std::size_t d = 1; d < extents.size(); ++d) {
        std::int64_t distance = 0;
        if (extents[d] != (*old.extents)[d]
                || __builtin_mul_overflow(std::max<std::int64_t>(extents[d] - 1, 0), (*old.strides)[d], &distance)
                || __builtin_add_overflow(last, distance, &last))
            return false;
    }
    return (*old.strides)[0] > last;
}

void require_ids(const std::set<std::uint64_t> &known, const char *what, std::uint64_t id, const graph &g) {
    if (!known.count(id)) throw usage_error(concat("there is no ", what, ' ', id, " in ", g.file));
}

} // namespace

std::optional<dynquant::dims> strides_in_order_of(const tensor &old, const dynquant::dims &extents) {
    if (!old.strides || old.strides->size() != extents.size()) return std::nullopt;
    if (differ_in_outermost_dim_0(old, extents)) return old.strides;
    std::vector<std::size_t> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return (*old.strides)[a] > (*old.strides)[b]; });
    return dense_strides(extents, order, dynquant::to_string(extents));
}

new_shapes parse_in_shapes(std::string_view text) {
    new_shapes result;
    for_each_entry(text,
            [&](std::uint64_t id, std::string_view value) { return result.emplace(id, parse_shape(value)).second; });
    return result;
}

new_attributes parse_op_attrs(std::string_view text) {
    new_attributes result;
    for_each_entry(text,
            [&](std::uint64_t id, std::string_view value) { return result.emplace(id, parse_values(value)).second; });
    return result;
}

void rewrite(graph &g, const new_shapes &shapes) {
    if (shapes.empty()) return;
    std::set<std::uint64_t> known, written;
    std::deque<op *> changed;
    const auto take = [&](tensor &t) {
        known.insert(t.id);
        if (const auto given = shapes.find(t.id); given != shapes.end()) reshape(t, given->second);
    };
    for (auto &each : g.ops)
        for (const auto &output : each.outputs)
            if (shapes.count(output.id)) written.insert(output.id);
    for (auto &each : g.ops) {
        for (auto &input : each.inputs) {
            if (written.count(input.id))
                throw usage_error(concat(
                        "expected inputs and outputs of the graph, given tensor ", input.id, " between two ops"));
            take(input);
        }
        if (each.supported_kind && shapes.count(each.inputs.front().id)) changed.push_back(&each);
    }
    const auto read = known;
    propagate_shapes(g, std::move(changed));
    for (auto &each : g.ops)
        for (auto &output : each.outputs)
            if (!read.count(output.id)) take(output);
    for (const auto &entry : shapes)
        if (!known.count(entry.first))
            g.notes.push_back(concat(g.file, ": --in-shapes: there is no input or output ", entry.first));
}

void rewrite(graph &g, const new_attributes &attributes) {
    const auto qtypes = names_of<granularity>();
    std::set<std::uint64_t> known;
    for (auto &each : g.ops) {
        known.insert(each.id);
        const auto given = attributes.find(each.id);
        if (given == attributes.end() || !each.supported_kind) continue;
        for (const auto &[name, value] : given->second) {
            const bool is_value = name == "scales" || name == "zps"; // inputs of the dynamic ops
            if (!type_of_attribute(name) || (is_value && is_dynamic(*each.supported_kind)))
                throw usage_error(concat("op ", each.id, " (", each.kind, ") has no attribute ", name));
            if (value == "undef") {
                if (name == "scales") throw usage_error("scales: expected values, given undef");
                each.attributes.erase(name);
                continue;
            }
            if (name == "qtype" && std::ranges::find(qtypes, value) == qtypes.end())
                throw usage_error(concat(
                        "qtype: expected ", dynquant::alternatives(qtypes, std::identity {}), ", given '", value, "'"));
            each.attributes[name] = value;
        }
    }
    for (const auto &entry : attributes)
        require_ids(known, "op", entry.first, g);
}

} // namespace dqbench::json_graph
