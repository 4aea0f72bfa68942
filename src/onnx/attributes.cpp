// Checks of a node's attributes: known, unique, of the right type, with valid values.
#include <algorithm>
#include <functional>
#include <utility>

#include "onnx/check.hpp"
#include "onnx/refusal.hpp"
#include "quantization/rule_types.hpp"

namespace dynquant::onnx {

std::string name_of_attribute_type(std::int32_t type) {
    constexpr const char *names[] = {"UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS",
            "STRINGS", "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
    return type >= 0 && type < static_cast<int>(std::size(names)) ? names[type] : concat("type ", type);
}

namespace {

const attribute_schema *find(std::span<const attribute_schema> known, const std::string &name) {
    const auto row = std::ranges::find_if(known, [&](const attribute_schema &a) { return a.name == name; });
    return row == known.end() ? nullptr : &*row;
}

[[noreturn]] void refuse_unknown(const node &n, const op_schema &schema, const std::string &name) {
    for (const auto &version : versions_of(n.domain, n.op_type))
        if (find(version.attributes, name))
            refuse(n, status::invalid_arguments, "attribute '", name, "': expected opset ", version.since,
                    " or newer, given opset ", n.opset);
    std::vector<std::string> names;
    for (const auto &known : schema.attributes)
        names.emplace_back(known.name);
    refuse(n, status::invalid_arguments, "attributes: expected ",
            names.empty() ? "none" : alternatives(names, std::identity {}), ", given '", name, "'",
            suggest(name, names));
}

/// The name of a type number. Numbers outside 32 bits are not truncated: 2^32 + 2 is not type 2.
std::string name_of_number(std::int64_t number) {
    return std::in_range<element_type>(number) ? name_of(static_cast<element_type>(number)) : concat("type ", number);
}

bool is_one_of(std::int64_t number, type_set types) {
    return std::in_range<element_type>(number) && types.contains(static_cast<element_type>(number));
}

void check_precision(const node &n, std::int64_t given) {
    constexpr type_set divisions = {type::float32, type::float16, type::bfloat16};
    if (given != type::undefined && !is_one_of(given, divisions))
        refuse(n, status::invalid_data_type, "attribute 'precision': expected ", names_of(divisions), ", given ",
                name_of_number(given));
}

void check_type(
        const node &n, const char *name, std::int64_t given, const op_schema &schema, type_set op_schema::*allowed) {
    if (is_one_of(given, schema.*allowed)) return;
    refuse(n, status::invalid_data_type, "attribute '", name, "': expected ", names_of(schema.*allowed), ", given ",
            name_of_number(given),
            std::in_range<element_type>(given) ? suggest_opset(n, static_cast<element_type>(given), allowed) : "");
}

void check_output_dtype(const node &n, std::int64_t given, const op_schema &schema) {
    if (given == type::undefined) return;
    check_type(n, "output_dtype", given, schema,
            schema.dir == direction::quantize ? &op_schema::quantized : &op_schema::real);
}

void check_flag(const node &n, const char *name, std::int64_t given) {
    if (given != 0 && given != 1)
        refuse(n, status::invalid_arguments, "attribute '", name, "': expected 0 or 1, given ", given);
}

/// Those of operators that compute scales. rule_of() checks how they fit each other.
void check_computing(const node &n, const op_schema &schema, const attributes &values) {
    check_flag(n, "symmetric", values.symmetric);
    if (!is_one_of(values.to, schema.quantized))
        refuse(n, status::invalid_data_type, "attribute 'to': expected ", names_of(y_types_for(n, values, schema)),
                ", given ", name_of_number(values.to));
    if (!is_one_of(values.scale_type, schema.scale))
        refuse(n, status::invalid_data_type, "attribute 'scale_type': expected ",
                names_of(scale_types_for(values, schema)), ", given ", name_of_number(values.scale_type));
    if (values.block_size > 0 && !states(n, "axis"))
        refuse(n, status::invalid_arguments, "attribute 'axis': expected one beside block_size ", values.block_size,
                ", given none");
}

void check_values(const node &n, const op_schema &schema, const attributes &values) {
    if (values.block_size < 0)
        refuse(n, status::invalid_arguments, "attribute 'block_size': expected 0 or more, given ", values.block_size);
    check_flag(n, "saturate", values.saturate);
    check_precision(n, values.precision);
    check_output_dtype(n, values.output_dtype, schema);
    if (schema.dynamic) check_computing(n, schema, values);
}

} // namespace

bool states(const node &n, const char *name) {
    return std::ranges::find(n.attributes, name, &attribute::name) != n.attributes.end();
}

attributes attributes_of(const node &n, const op_schema &schema) {
    attributes values;
    for (const auto &given : n.attributes) {
        const auto *known = find(schema.attributes, given.name);
        if (!known) refuse_unknown(n, schema, given.name);
        if (std::ranges::count(n.attributes, given.name, &attribute::name) > 1)
            refuse(n, status::invalid_arguments, "attribute '", given.name, "': expected it once, given it more often");
        const auto expected = known->text ? attribute_type::text : attribute_type::integer;
        if (given.type != expected)
            refuse(n, status::invalid_arguments, "attribute '", given.name, "': expected type ",
                    name_of_attribute_type(expected), ", given ", name_of_attribute_type(given.type));
        if (known->text)
            values.*known->text = given.s;
        else
            values.*known->value = given.i;
    }
    if (!states(n, "symmetric")) values.symmetric = is_one_of(values.to, dst_types_of({})) ? 1 : 0;
    check_values(n, schema, values);
    return values;
}

} // namespace dynquant::onnx
