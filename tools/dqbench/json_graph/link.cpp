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

void lead_parameters(op &o) {
    const auto extents = parameter_dims(o);
    if (!extents) return;
    for (auto t = o.inputs.begin() + 1; t != o.inputs.end(); ++t) {
        const bool one = qtype_of(o) == "per_tensor" && t->extents && dynquant::volume(*t->extents) == 1;
        if (!one) give_dims(*t, *extents); // one scale may be of any rank
    }
}

void follow_minibatch(const op &before, op &o) {
    const auto old = before.inputs.front().extents;
    const auto &src = *o.inputs.front().extents;
    for (auto t = o.inputs.begin() + 1; t != o.inputs.end(); ++t) {
        if (!old || old->empty() || !t->extents || t->extents->size() != src.size()) continue;
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
    if (by_minibatch && grouped && !given) follow_minibatch(before, o);
    if (grouped && !regrouped && (reshaped || given))
        follow_scales(o);
    else if (!given)
        lead_parameters(o);
}

} // namespace

void link(const graph &as_written, const new_shapes &shapes, const new_attributes &attributes, bool by_minibatch,
        graph &g) {
    for (std::size_t i = 0; i < g.ops.size(); ++i) {
        auto &o = g.ops[i];
        if (!o.supported_kind || !is_dynamic(*o.supported_kind) || !o.inputs.front().extents) continue;
        const auto found = attributes.find(o.id);
        try {
            link_op(as_written.ops[i], shapes,
                    found == attributes.end() ? std::map<std::string, std::string> {} : found->second, by_minibatch, o);
        } catch (const usage_error &e) {
            throw usage_error(concat(g.file, ": ", describe(o), ": ", e.what()));
        }
    }
}

} // namespace dqbench::json_graph
