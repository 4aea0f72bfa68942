#include "json_graph/read.hpp"

#include <cstdint>
#include <set>

#include "json_graph/names.hpp"
#include "json_graph/node.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"
#include "vocabulary.hpp"

namespace dqbench::json_graph {

using dynquant::concat;

namespace {

constexpr std::int64_t unknown_dim = INT64_MIN; // DNNL_GRAPH_UNKNOWN_DIM

/// Extents or strides; none when any of them is unknown.
std::optional<dynquant::dims> read_dims(const node &list) {
    dynquant::dims result;
    bool known = true;
    for (const auto &each : list.elements()) {
        result.push_back(each.integer());
        if (result.back() == unknown_dim)
            known = false;
        else if (result.back() < 0)
            each.fail("an integer from 0 on, or that for an unknown one, -2^63");
    }
    if (!known) return std::nullopt;
    return result;
}

tensor read_tensor(const node &from) {
    tensor result {from.at("id").id(), from.at("dtype").one_of(data_types()), read_dims(from.at("shape")), "strided",
            std::nullopt};
    if (const auto layout = from.find("layout_type")) result.layout = layout->one_of(layout_types());
    if (const auto property = from.find("property_type")) result.property = property->one_of(property_types());
    const auto strides = from.find("stride");
    if (!strides || result.layout != "strided" || !result.extents) return result;
    result.strides = read_dims(*strides);
    if (result.strides && result.strides->size() != result.extents->size())
        strides->fail(concat(result.extents->size(), " strides, as many as there are dims"));
    return result;
}

std::vector<tensor> read_tensors(const node &list) {
    std::vector<tensor> all;
    for (const auto &each : list.elements())
        all.push_back(read_tensor(each));
    return all;
}

/// An op's name, shortened and printable on one line.
std::string short_name(const node &from) {
    constexpr std::size_t most = 80;
    return dynquant::printable(from.string().substr(0, most));
}

template <typename Read>
std::string join(const node &list, Read read) {
    std::string text;
    for (const auto &each : list.elements())
        text += (text.empty() ? "" : "x") + read(each);
    return text;
}

/// A value in the syntax of benchdnn's --op-attrs and of dqbench's options.
std::string read_value(const std::string &type, const node &value) {
    const auto integer = [](const node &n) { return std::to_string(n.integer()); };
    if (type == "s64") return integer(value);
    if (type == "s64[]") return join(value, integer);
    if (type == "f32[]") return join(value, [](const node &n) { return to_shortest(n.real()); });
    return value.string();
}

std::map<std::string, std::string> read_attributes(const node &from) {
    std::map<std::string, std::string> result;
    for (const auto &[name, entry] : from.members()) {
        const auto *expected = type_of_attribute(name);
        if (!expected) entry.fail("an attribute that the four ops have");
        const auto type = entry.at("type");
        if (type.string() != expected) type.fail(concat('"', expected, "\", the type of ", name));
        const auto value = entry.at("value");
        if (name == "qtype") value.one_of(names_of<granularity>());
        auto text = read_value(expected, value);
        if (name != "zps" || !text.empty()) result[name] = std::move(text); // an empty list of zps is no attribute
    }
    return result;
}

attribute read_attribute(const node &from) {
    attribute result {from.at("type").one_of({"bool", "s64", "f32", "string", "s64[]", "f32[]"}), {}, {}};
    const auto value = from.at("value");
    const auto number = [&](const node &n) {
        return result.type.starts_with("f32") ? static_cast<double>(n.real()) : static_cast<double>(n.integer());
    };
    if (result.type == "string")
        result.text = value.string();
    else if (result.type == "bool")
        result.numbers = {value.truth() ? 1.0 : 0.0};
    else if (result.type.ends_with("[]"))
        for (const auto &each : value.elements())
            result.numbers.push_back(number(each));
    else
        result.numbers = {number(value)};
    return result;
}

/// Of an op that may not even run: what is no attribute has no type.
std::map<std::string, attribute> read_others(const node &from) {
    std::map<std::string, attribute> result;
    const auto attributes = from.find("attrs");
    if (!attributes) return result;
    for (const auto &[name, entry] : attributes->members())
        try {
            result[name] = read_attribute(entry);
        } catch (const usage_error &) {
            result[name] = {};
        }
    return result;
}

void require_ports(const node &from, const op &which) {
    const bool dynamic = is_dynamic(*which.supported_kind);
    const std::size_t least = dynamic ? 2 : 1, most = dynamic ? 3 : 1;
    if (which.inputs.size() < least || which.inputs.size() > most)
        from.at("inputs").fail(dynamic ? "src, scales and perhaps zps" : "one input, src");
    if (which.outputs.size() != 1) from.at("outputs").fail("one output, dst");
    if (!dynamic && !which.attributes.count("scales")) from.fail("an op with the attribute scales");
}

op read_op(const node &from) {
    op result;
    result.id = from.at("id").id();
    if (const auto name = from.find("name")) result.name = short_name(*name);
    result.kind = from.at("kind").one_of(op_kinds());
    for (const auto &known : words<op_kind>)
        if (result.kind == known.name) result.supported_kind = known.value;
    result.inputs = read_tensors(from.at("inputs"));
    result.outputs = read_tensors(from.at("outputs"));
    if (!result.supported_kind) {
        result.others = read_others(from);
        return result;
    }
    if (const auto attributes = from.find("attrs")) result.attributes = read_attributes(*attributes);
    require_ports(from, result);
    return result;
}

} // namespace

graph read_graph(const std::string &file) {
    const auto json = parse_file(file);
    const node top(json, file);
    graph result {file, concat("--case=", file), "strict", {}};
    if (const auto mode = top.find("fpmath_mode")) result.fpmath_mode = mode->one_of(names_of<fpmath_mode>());
    std::set<std::uint64_t> ids;
    for (const auto &each : top.at("graph").elements()) {
        result.ops.push_back(read_op(each));
        if (!ids.insert(result.ops.back().id).second) each.at("id").fail("an id of its own");
    }
    if (result.ops.empty()) top.at("graph").fail("an op at least");
    return result;
}

std::string describe(const op &which) {
    return concat("op ", which.id, " '", which.name, "' (", which.kind, ')');
}

} // namespace dqbench::json_graph
