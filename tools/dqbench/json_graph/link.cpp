#include "json_graph/link.hpp"

#include <algorithm>

#include "json_graph/granularity.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench::json_graph {

using dynquant::concat;

namespace {

void give_dims(tensor &t, const dynquant::dims &extents) {
    if (t.extents == extents) return;
    t.extents = extents;
    t.strides = layout().strides_for(extents);
}

/// src / scales, where there is a scale for each group.
void follow_scales(op &o) {
    const auto &src = *o.inputs.front().extents;
    const auto &scales = o.inputs[1].extents;
    if (!scales) return;
    if (src.empty()) throw usage_error("group_shape: expected src with dims, given a scalar");
    const auto given = concat(", given ", dynquant::to_string(src), " and ", dynquant::to_string(*scales));
    if (scales->size() != src.size())
        throw usage_error(concat("group_shape follows src and scales: expected as many dims of both", given));
    dynquant::dims group(src.size(), 1);
    for (std::size_t d = 0; d < group.size(); ++d) {
        const auto count = (*scales)[d];
        if (count == 0 ? src[d] != 0 : src[d] % count != 0)
            throw usage_error(concat("group_shape follows src and scales: expected dims of src that are multiples of "
                                     "those of scales",
                    given));
        if (count > 0) group[d] = std::max<std::int64_t>(src[d] / count, 1);
    }
    o.attributes["group_shape"] = dynquant::to_string(group);
}

/// The dims of scales and zps by the op's attributes; none if unknown here.
std::optional<dynquant::dims> parameter_dims(const op &o) {
    if (qtype_of(o) != "per_group") {
        const auto count = parameter_count(o);
        return count ? std::optional(dynquant::dims {*count}) : std::nullopt;
    }
    const auto &src = *o.inputs.front().extents;
    const auto group = group_of(o);
    for (std::size_t d = 0; d < group.size(); ++d)
        if (src[d] % group[d] != 0)
            throw usage_error(concat("group_shape: expected divisors of the dims of src, ", dynquant::to_string(src),
                    ", given ", dynquant::to_string(group)));
    return grouped_dims(o);
}

void lead_parameters(const new_shapes &shapes, op &o) {
    const auto extents = parameter_dims(o);
    if (!extents) return;
    for (auto t = o.inputs.begin() + 1; t != o.inputs.end(); ++t) {
        const bool one = qtype_of(o) == "per_tensor" && t->extents && dynquant::volume(*t->extents) == 1;
        if (!one && !shapes.count(t->id)) give_dims(*t, *extents); // one scale may be of any rank
    }
}

void follow_minibatch(const op &before, const new_shapes &shapes, op &o) {
    const auto old = before.inputs.front().extents;
    const auto &src = *o.inputs.front().extents;
    if (!old || old->empty() || src.empty()) return;
    for (auto t = o.inputs.begin() + 1; t != o.inputs.end(); ++t) {
        if (shapes.count(t->id) || !t->extents || t->extents->size() != src.size()) continue;
        auto extents = *t->extents;
        if (extents[0] == (*old)[0]) extents[0] = src[0];
        give_dims(*t, extents);
    }
}

void link_op(const op &before, const new_shapes &shapes, const std::map<std::string, std::string> &attributes,
        bool by_minibatch, op &o) {
    const bool reshaped = o.inputs.front().extents != before.inputs.front().extents;
    const bool given =
            std::any_of(o.inputs.begin() + 1, o.inputs.end(), [&](const tensor &t) { return shapes.count(t.id) != 0; });
    const auto is_new = [&](const char *name) { return attributes.count(name) != 0; };
    const bool regrouped = is_new("group_shape") || is_new("mask");
    if (!reshaped && !given && !regrouped && !is_new("qtype") && !is_new("axis")) return;
    const bool grouped = value_of(o, "qtype", "") == "per_group" && o.attributes.count("group_shape") != 0;
    if (by_minibatch && grouped) follow_minibatch(before, shapes, o);
    if (grouped && !regrouped && (reshaped || given)) follow_scales(o);
    lead_parameters(shapes, o);
}

/// What a user gave for an op and dqbench does not read.
std::vector<std::string> notes_on(
        const op &o, const new_shapes &shapes, const std::map<std::string, std::string> &attributes) {
    std::vector<std::string> notes;
    for (auto t = o.inputs.begin() + 1; t != o.inputs.end(); ++t)
        if (shapes.count(t->id) && t->extents && t->strides && *t->strides != layout().strides_for(*t->extents))
            notes.push_back(concat("--in-shapes: strides of tensor ", t->id,
                    " are without effect: scales and zps of dqbench are dense"));
    if (attributes.count("group_shape") && value_of(o, "qtype", "per_tensor") != "per_group"
            && !o.attributes.count("mask"))
        notes.push_back(
                concat("--op-attrs: group_shape is without effect beside qtype ", value_of(o, "qtype", "per_tensor")));
    return notes;
}

/// Throws where ops disagree about the dims of a tensor.
void require_one_shape(const graph &g) {
    std::map<std::uint64_t, std::pair<const op *, dynquant::dims>> seen;
    for (const auto &o : g.ops) {
        if (!o.supported_kind) continue; // new dims end at other ops
        for (const auto *list : {&o.inputs, &o.outputs})
            for (const auto &t : *list) {
                if (!t.extents) continue;
                const auto &first = seen.emplace(t.id, std::pair(&o, *t.extents)).first->second;
                if (first.second != *t.extents)
                    throw usage_error(concat(g.file, ": tensor ", t.id, ": expected the same dims in all ops, given ",
                            dynquant::to_string(first.second), " in ", describe(*first.first), " and ",
                            dynquant::to_string(*t.extents), " in ", describe(o)));
            }
    }
}

} // namespace

void link(const graph &as_written, const new_shapes &shapes, const new_attributes &attributes, bool by_minibatch,
        graph &g) {
    for (std::size_t i = 0; i < g.ops.size(); ++i) {
        auto &o = g.ops[i];
        if (!o.supported_kind || !is_dynamic(*o.supported_kind) || !o.inputs.front().extents) continue;
        const auto found = attributes.find(o.id);
        const auto own = found == attributes.end() ? std::map<std::string, std::string> {} : found->second;
        try {
            link_op(as_written.ops[i], shapes, own, by_minibatch, o);
        } catch (const usage_error &e) {
            throw usage_error(concat(g.file, ": ", describe(o), ": ", e.what()));
        }
        for (const auto &each : notes_on(o, shapes, own))
            g.notes.push_back(concat(g.file, ": ", describe(o), ": ", each));
    }
    require_one_shape(g);
}

} // namespace dqbench::json_graph
