#include "json_graph/plan.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "layout.hpp"
#include "problem.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"
#include "vocabulary.hpp"

namespace dqbench::json_graph {

using dynquant::concat;

namespace {

constexpr const char *static_scales = "f32", *static_zps = "s32", *no_zps = "undef"; // attributes have no data type

std::string value_of(const op &o, const std::string &name, const std::string &otherwise) {
    const auto found = o.attributes.find(name);
    return found == o.attributes.end() ? otherwise : found->second;
}

/// Bit d says that scales and zps vary along dim d of src, whose dims are known.
std::optional<std::int64_t> mask_of(const op &o) {
    const auto text = value_of(o, "mask", "");
    if (text.empty()) return std::nullopt;
    const auto rank = o.inputs.front().extents->size();
    const auto most = rank < 63 ? (std::int64_t {1} << rank) - 1 : INT64_MAX;
    const auto mask = parse_integer(text, INT64_MIN, INT64_MAX);
    if (mask < 0 || mask > most) throw usage_error(concat("mask: expected a value from 0 to ", most, ", given ", mask));
    if (const auto qtype = value_of(o, "qtype", "per_tensor"); qtype != "per_tensor")
        throw usage_error(concat("qtype: expected per_tensor or none beside mask, given ", qtype));
    return mask;
}

bool has_bit(std::int64_t mask, std::size_t d) {
    return d < 63 && (mask >> d & 1) != 0;
}

/// dqbench has no masks: groups state the same scales.
std::string qtype_of(const op &o) {
    if (const auto mask = mask_of(o)) return *mask == 0 ? "per_tensor" : "per_group";
    return value_of(o, "qtype", "per_tensor");
}

/// src, scales, zps, dst.
std::array<std::string, 4> types_of(const op &o) {
    const auto &src = o.inputs.front().type, &dst = o.outputs.front().type;
    if (!is_dynamic(*o.supported_kind))
        return {src, static_scales, o.attributes.count("zps") ? static_zps : no_zps, dst};
    return {src, o.inputs[1].type, o.inputs.size() > 2 ? o.inputs[2].type : no_zps, dst};
}

/// Why a valid op cannot be run; empty if it can.
std::string unsupported_in(const op &o) {
    const auto &src = o.inputs.front();
    if (!src.extents) return concat("the dims of src, tensor ", src.id, ", are unknown: give them by --in-shapes");
    for (const auto *t : {&src, &o.outputs.front()})
        if (t->layout == "opaque") return concat("tensor ", t->id, " is of layout opaque");
    const auto types = types_of(o);
    const auto known = names_of<data_type>();
    for (std::size_t i = 0; i < types.size(); ++i)
        if (std::ranges::find(known, types[i]) == known.end() && !(i == 2 && types[i] == no_zps))
            return concat("data type ", types[i]);
    return "";
}

/// The channels' dim; none if the op is not per_channel, or if the library will refuse the axis.
std::optional<std::size_t> channel_dim(const op &o) {
    if (qtype_of(o) != "per_channel") return std::nullopt;
    const auto rank = static_cast<std::int64_t>(o.inputs.front().extents->size());
    const auto axis = parse_integer(value_of(o, "axis", "1"), INT64_MIN, INT64_MAX);
    if (axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// The number of scales; none if unknown here.
std::optional<std::int64_t> parameter_count(const op &o) {
    if (qtype_of(o) == "per_tensor") return 1;
    if (const auto d = channel_dim(o)) return (*o.inputs.front().extents)[*d];
    return std::nullopt;
}

void require_count(const std::string &what, std::int64_t expected, std::int64_t given) {
    if (given != expected) throw usage_error(concat(what, ": expected ", expected, ", given ", given));
}

/// The attribute group_shape, one extent for each dim of src. Beside a mask it may be left out, or have the last two.
dynquant::dims group_shape_of(const op &o) {
    const auto text = value_of(o, "group_shape", "");
    const auto rank = o.inputs.front().extents->size();
    dynquant::dims group;
    for (const auto &extent : text.empty() ? std::vector<std::string>() : split(text, 'x'))
        group.push_back(parse_integer(extent, INT64_MIN, INT64_MAX));
    if (mask_of(o) && (text.empty() || (group.size() == 2 && rank > 2)))
        group.insert(group.begin(), rank - group.size(), 1);
    if (group.size() != rank)
        throw usage_error(concat("group_shape: expected ", rank, " extents, as many as src has dims, given ", text));
    for (std::size_t d = 0; d < rank; ++d)
        if (group[d] < 1)
            throw usage_error(concat("group_shape: expected extents of 1 or more, given ", group[d], " at dim ", d));
    return group;
}

/// The group's extents. Along dims without a bit of the mask it is as long as src.
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

/// The dims of scales and zps: the number of groups along each dim, or along each dim of the mask.
dynquant::dims grouped_dims(const op &o) {
    const auto &extents = *o.inputs.front().extents;
    const auto group = group_of(o);
    const auto mask = mask_of(o);
    dynquant::dims counts;
    for (std::size_t d = 0; d < group.size(); ++d)
        if (!mask || has_bit(*mask, d)) counts.push_back(extents[d] / group[d]);
    return counts;
}

void check_dynamic_shape(const op &o, const char *what, const dynquant::dims &given) {
    if (qtype_of(o) == "per_group") {
        if (const auto expected = grouped_dims(o); given != expected)
            throw usage_error(concat(
                    what, ": expected dims ", dynquant::to_string(expected), ", given ", dynquant::to_string(given)));
    } else if (const auto expected = parameter_count(o)) {
        require_count(what, *expected, dynquant::volume(given).value_or(INT64_MAX));
    }
}

/// Throws if scales or zps have dims that do not fit src. dqbench draws its own, so nothing else would notice.
void check_dynamic_shapes(const op &o) {
    constexpr const char *names[] = {"src", "scales", "zps"};
    for (std::size_t i = 1; i < o.inputs.size(); ++i)
        if (const auto &extents = o.inputs[i].extents) check_dynamic_shape(o, names[i], *extents);
}

std::int64_t count_of(const std::string &list) {
    return static_cast<std::int64_t>(split(list, 'x').size());
}

/// Extends zps to the number of channels with zeros, as benchdnn does. Scales repeat, as dqbench's --scales does.
std::string pad_with_zeros(std::string zps, std::int64_t count) {
    constexpr std::int64_t most = 1 << 20; // bounds the memory that a malformed file can demand
    if (zps.find_first_not_of("0x") == zps.npos) return zps;
    if (count > most) throw usage_error(concat("zps: expected at most ", most, " channels, given ", count));
    for (auto given = count_of(zps); given < count; ++given)
        zps += "x0";
    return zps;
}

void add_static_values(const op &o, plan &p) {
    const auto count = parameter_count(o);
    for (const std::string name : {"scales", "zps"}) {
        auto values = value_of(o, name, "");
        if (values.empty()) continue;
        if (qtype_of(o) == "per_tensor") require_count(name, 1, count_of(values));
        if (name == "zps" && count) values = pad_with_zeros(std::move(values), *count);
        p.options.emplace_back(name, std::move(values));
    }
}

void add_layout_option(const char *option, const tensor &t, const dynquant::dims &extents, plan &p) {
    if (t.strides && *t.strides != layout().strides_for(extents)) {
        p.options.emplace_back(option, concat("strides:", dynquant::to_string(*t.strides)));
    }
}

/// The case's name, FILE:ID. Characters that a name must not have become _.
std::string name_for(const graph &g, const op &o) {
    auto name = concat(std::filesystem::path(g.file).filename().string(), ':', o.id);
    for (char &c : name)
        if (!is_name_character(c)) c = '_';
    return name;
}

plan plan_case(const graph &g, const op &o) {
    plan p {describe(o), {}, {}, {}};
    p.unsupported = unsupported_in(o);
    if (!p.unsupported.empty()) return p;

    const auto types = types_of(o);
    const auto &src = o.inputs.front(), &dst = o.outputs.front();
    if (dst.extents && dst.extents != src.extents)
        throw usage_error(concat("dst: expected the dims of src, ", dynquant::to_string(*src.extents), ", given ",
                dynquant::to_string(*dst.extents)));
    p.options = {{"op", o.kind}, {"dt", concat(types[0], ':', types[1], ':', types[2], ':', types[3])},
            {"qtype", qtype_of(o)}};
    if (qtype_of(o) == "per_channel") p.options.emplace_back("axis", value_of(o, "axis", "1"));
    if (qtype_of(o) == "per_group") p.options.emplace_back("group", dynquant::to_string(group_of(o)));
    if (is_dynamic(*o.supported_kind))
        check_dynamic_shapes(o);
    else
        add_static_values(o, p);
    add_layout_option("stag", src, *src.extents, p);
    if (dst.layout == "any")
        p.options.emplace_back("dtag", "any");
    else
        add_layout_option("dtag", dst, *src.extents, p);
    p.problem = concat(dynquant::to_string(*src.extents), "n\"", name_for(g, o), '"');
    return p;
}

} // namespace

std::vector<plan> plan_cases(const graph &g) {
    std::vector<plan> all;
    for (const auto &each : g.ops) {
        if (!each.supported_kind) continue;
        try {
            all.push_back(plan_case(g, each));
        } catch (const usage_error &e) {
            throw usage_error(concat(g.file, ": ", describe(each), ": ", e.what()));
        }
    }
    return all;
}

std::string describe_other_ops(const graph &g) {
    std::map<std::string, int> counts;
    for (const auto &each : g.ops)
        if (!each.supported_kind) ++counts[each.kind];
    std::string list;
    for (const auto &[kind, count] : counts)
        list += concat(list.empty() ? "" : ", ", kind, count > 1 ? concat(" (", count, ')') : "");
    return list.empty() ? "" : concat(g.file, ": not of this family: ", list);
}

} // namespace dqbench::json_graph
