#include "json_graph/plan.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "json_graph/granularity.hpp"
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
    if (o.inputs.size() > 2 && o.inputs[1].extents && o.inputs[2].extents && dynquant::volume(*o.inputs[2].extents) == 1
            && dynquant::volume(*o.inputs[1].extents) != 1)
        return concat("zps of 1 element beside scales of ", dynquant::to_string(*o.inputs[1].extents));
    const auto types = types_of(o);
    const auto known = names_of<data_type>();
    for (std::size_t i = 0; i < types.size(); ++i)
        if (std::ranges::find(known, types[i]) == known.end() && !(i == 2 && types[i] == no_zps))
            return concat("data type ", types[i]);
    return "";
}

void require_count(const std::string &what, std::int64_t expected, std::int64_t given) {
    if (given != expected) throw usage_error(concat(what, ": expected ", expected, ", given ", given));
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

/// A word would be a rule that computes scales.
void require_numbers(const std::string &name, const std::string &list) {
    try {
        for (const auto &value : split(list, 'x'))
            parse_f32(value);
    } catch (const usage_error &) {
        throw usage_error(concat(
                name, ": expected numbers, as in ", name == "zps" ? "3x-1" : "0.5x0.25", ", given '", list, "'"));
    }
}

void add_static_values(const op &o, plan &p) {
    const auto count = parameter_count(o);
    for (const std::string name : {"scales", "zps"}) {
        auto values = value_of(o, name, "");
        if (values.empty()) continue;
        require_numbers(name, values);
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
