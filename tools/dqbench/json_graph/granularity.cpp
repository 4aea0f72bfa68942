#include "json_graph/granularity.hpp"

#include <algorithm>

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench::json_graph {

using dynquant::concat;

namespace {

/// An integer of an attribute; a message names the attribute.
std::int64_t integer_of(const char *name, std::string_view text) {
    try {
        return parse_integer(text, INT64_MIN, INT64_MAX);
    } catch (const usage_error &e) {
        throw usage_error(concat(name, ": ", e.what()));
    }
}

/// Bit d says that scales and zps vary along dim d of src, whose dims are known.
std::optional<std::int64_t> mask_of(const op &o) {
    const auto text = value_of(o, "mask", "");
    if (text.empty()) return std::nullopt;
    const auto rank = o.inputs.front().extents->size();
    const auto most = rank < 63 ? (std::int64_t {1} << rank) - 1 : INT64_MAX;
    const auto mask = integer_of("mask", text);
    if (mask < 0 || mask > most) throw usage_error(concat("mask: expected a value from 0 to ", most, ", given ", mask));
    if (const auto qtype = value_of(o, "qtype", "per_tensor"); qtype != "per_tensor")
        throw usage_error(concat("qtype: expected per_tensor or none beside mask, given ", qtype));
    return mask;
}

bool has_bit(std::int64_t mask, std::size_t d) {
    return d < 63 && (mask >> d & 1) != 0;
}

/// 1x1x8 for dims that end in 8.
std::string example_of_group(dynquant::dims extents) {
    std::fill(extents.begin(), extents.end() - 1, 1);
    return dynquant::to_string(extents);
}

/// The attribute group_shape, one extent for each dim of src. Beside a mask it may be left out, or have the last two.
dynquant::dims group_shape_of(const op &o) {
    const auto text = value_of(o, "group_shape", "");
    const auto rank = o.inputs.front().extents->size();
    dynquant::dims group;
    for (const auto &extent : text.empty() ? std::vector<std::string>() : split(text, 'x'))
        group.push_back(integer_of("group_shape", extent));
    if (mask_of(o) && (text.empty() || (group.size() == 2 && rank > 2)))
        group.insert(group.begin(), rank - group.size(), 1);
    if (group.size() != rank)
        throw usage_error(concat("group_shape: expected ", rank, " extents, as many as src has dims, given ",
                text.empty() ? concat("none; add *group_shape:", example_of_group(*o.inputs.front().extents)) : text));
    for (std::size_t d = 0; d < rank; ++d)
        if (group[d] < 1)
            throw usage_error(concat("group_shape: expected extents of 1 or more, given ", group[d], " at dim ", d));
    return group;
}

} // namespace

std::string value_of(const op &o, const std::string &name, const std::string &otherwise) {
    const auto found = o.attributes.find(name);
    return found == o.attributes.end() ? otherwise : found->second;
}

std::string qtype_of(const op &o) {
    if (const auto mask = mask_of(o)) return *mask == 0 ? "per_tensor" : "per_group";
    return value_of(o, "qtype", "per_tensor");
}

std::optional<std::size_t> channel_dim(const op &o) {
    if (qtype_of(o) != "per_channel") return std::nullopt;
    const auto rank = static_cast<std::int64_t>(o.inputs.front().extents->size());
    const auto axis = integer_of("axis", value_of(o, "axis", "1"));
    if (axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::optional<std::int64_t> parameter_count(const op &o) {
    if (qtype_of(o) == "per_tensor") return 1;
    if (const auto d = channel_dim(o)) return (*o.inputs.front().extents)[*d];
    return std::nullopt;
}

dynquant::dims group_of(const op &o) {
    auto group = group_shape_of(o);
    const auto mask = mask_of(o);
    if (!mask) return group;
    const bool grouped = o.attributes.count("group_shape") != 0;
    for (std::size_t d = 0; d < group.size(); ++d) {
        if (has_bit(*mask, d)) continue;
        if (group[d] != 1 || (grouped && d + 2 >= group.size()))
            throw usage_error(concat("mask: expected bit ", d, " to be set for group_shape, given ", *mask));
        group[d] = std::max<std::int64_t>((*o.inputs.front().extents)[d], 1);
    }
    return group;
}

dynquant::dims grouped_dims(const op &o) {
    const auto &extents = *o.inputs.front().extents;
    const auto group = group_of(o);
    const auto mask = mask_of(o);
    dynquant::dims counts;
    for (std::size_t d = 0; d < group.size(); ++d)
        if (!mask || has_bit(*mask, d)) counts.push_back(extents[d] / group[d]);
    return counts;
}

} // namespace dqbench::json_graph
