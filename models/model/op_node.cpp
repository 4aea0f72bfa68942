#include "model/op_node.hpp"

#include <algorithm>
#include <functional>

namespace dynquant::models {
namespace {

const attribute *find(const node &n, const char *name) {
    const auto at = std::ranges::find(n.attributes, name, &attribute::name);
    return at == n.attributes.end() ? nullptr : &*at;
}

const char *name_of(attribute_type type) {
    switch (type) {
        case attribute_type::integer: return "an integer";
        case attribute_type::integers: return "integers";
        case attribute_type::real: return "a number";
        case attribute_type::text: return "a string";
        default: return "nothing";
    }
}

void check_attributes(const op_node &n) {
    std::vector<std::string> names;
    for (const auto &known : n.schema.attributes)
        names.emplace_back(known.name);
    for (const auto &a : n.given.attributes) {
        const auto row = std::ranges::find_if(
                n.schema.attributes, [&](const attribute_schema &known) { return a.name == known.name; });
        if (row == n.schema.attributes.end())
            n.refuse(status::invalid_arguments, "attributes: expected ",
                    names.empty() ? "none" : alternatives(names, std::identity {}), " at opset ", n.opset, ", given '",
                    a.name, "'", suggest(a.name, names));
        if (std::ranges::count(n.given.attributes, a.name, &attribute::name) > 1)
            n.refuse(status::invalid_arguments, "attribute '", a.name, "': expected it once, given it more often");
        if (a.type() != row->type)
            n.refuse(status::invalid_arguments, "attribute '", a.name, "': expected ", name_of(row->type),
                    ", given another kind");
    }
}

void check_inputs(const op_node &n) {
    const auto &schema = n.schema.inputs;
    if (n.inputs.size() > schema.size())
        n.refuse(status::invalid_arguments, "inputs: expected at most ", schema.size(), ", given ", n.inputs.size());
    for (std::size_t i = 0; i < schema.size(); ++i) {
        if (!n.has(i)) {
            if (!schema[i].optional)
                n.refuse(status::invalid_arguments, "input ", schema[i].name, ": expected a value, given none");
            continue;
        }
        if (!schema[i].types.contains(n.at(i).type))
            n.refuse(status::invalid_data_type, n.name(i), ": expected type ", names_of(schema[i].types),
                    ", what dynquant computes at opset ", n.opset, ", given ", onnx::name_of(n.at(i).type));
    }
}

void check_output(const op_node &n) {
    const auto &outputs = n.given.outputs;
    const auto is_given = [](const std::string &name) { return !name.empty(); };
    if (outputs.empty() || outputs.front().empty() || std::ranges::count_if(outputs, is_given) != 1)
        n.refuse(status::unimplemented, "outputs: expected one, given ", std::ranges::count_if(outputs, is_given));
}

} // namespace

std::string op_node::name(std::size_t input) const {
    const auto known = input < schema.inputs.size() ? schema.inputs[input].name : "input";
    return concat(known, " '", given.inputs[input], "'");
}

const tensor &op_node::constant(std::size_t input) const {
    if (!constants[input])
        refuse(status::unimplemented, name(input),
                ": expected a constant, an initializer, given a value that is computed");
    return *constants[input];
}

std::int64_t op_node::integer(const char *attribute, std::int64_t default_value) const {
    const auto *found = find(given, attribute);
    return found ? std::get<std::int64_t>(found->value) : default_value;
}

float op_node::real(const char *attribute, float default_value) const {
    const auto *found = find(given, attribute);
    return found ? std::get<float>(found->value) : default_value;
}

std::string op_node::text(const char *attribute, const char *default_value) const {
    const auto *found = find(given, attribute);
    return found ? std::get<std::string>(found->value) : default_value;
}

std::vector<std::int64_t> op_node::integers(
        const char *attribute, const std::vector<std::int64_t> &default_value) const {
    const auto *found = find(given, attribute);
    return found ? std::get<std::vector<std::int64_t>>(found->value) : default_value;
}

std::size_t op_node::axis(const char *attribute, std::int64_t given_axis, std::size_t rank, bool end) const {
    const auto count = static_cast<std::int64_t>(rank), highest = end ? count : count - 1;
    if (given_axis < -count || given_axis > highest)
        refuse(status::invalid_arguments, "attribute '", attribute, "': expected ", -count, " to ", highest,
                " for rank ", rank, ", given ", given_axis);
    return static_cast<std::size_t>(given_axis < 0 ? given_axis + count : given_axis);
}

op_node check(const graph &g, const node &n) {
    const auto opset = g.opsets.at("");
    op_node result {n, schema_of(n, opset), opset, {}, {}};
    const auto find_in = [](const auto &map, const std::string &name) {
        const auto found = name.empty() ? map.end() : map.find(name); // an empty name is an omitted input
        return found == map.end() ? nullptr : &found->second;
    };
    for (const auto &name : n.inputs) {
        result.inputs.push_back(find_in(g.value_types, name));
        result.constants.push_back(find_in(g.initializers, name));
    }
    check_output(result);
    if (result.schema.checked_elsewhere) return result;
    check_inputs(result);
    check_attributes(result);
    return result;
}

} // namespace dynquant::models
