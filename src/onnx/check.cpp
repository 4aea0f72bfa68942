// Checks of operators, opsets, inputs and their types.
#include "onnx/check.hpp"

#include <algorithm>
#include <functional>

#include "onnx/refusal.hpp"

namespace dynquant::onnx {

std::string label(const node &n) {
    return printable(concat("node ", n.name.empty() ? "" : "'" + n.name + "' ", "(",
            n.domain.empty() ? "" : n.domain + ".", n.op_type, ", opset ", n.opset, ")"));
}

std::string suggest_opset(const node &n, element_type given, type_set op_schema::*allowed) {
    for (const auto &row : versions_of(n.domain, n.op_type))
        if ((row.*allowed).contains(given)) return concat(", which opset ", row.since, " allows");
    return "";
}

namespace {

/// The names of a domain's operators, each once.
std::vector<std::string> names_in(const std::string &domain) {
    std::vector<std::string> names;
    for (const auto &row : op_schemas())
        if (versions_of(domain, row.name).data() == &row) names.emplace_back(row.name);
    return names;
}

/// Checks the types of the inputs and determines the type of y.
class types {
  public:
    types(const node &n, const op_schema &schema, const attributes &values)
        : node_(n)
        , schema_(schema)
        , values_(values) {}

    /// Checks all inputs; returns the type of y.
    element_type check() const {
        check_count();
        const bool quantizing = schema_.dir == direction::quantize;
        check_input(x, quantizing ? &op_schema::real : &op_schema::quantized);
        if (schema_.dynamic) return static_cast<element_type>(values_.to);
        check_input(scale, &op_schema::scale);
        if (schema_.scale_like_x) check_like_x(scale);
        return quantizing ? quantized() : dequantized();
    }

  private:
    element_type type_of(input position) const {
        return position < node_.inputs.size() ? node_.inputs[position].type : type::undefined;
    }
    const char *name(input position) const { return name_of(schema_, position); }

    void check_count() const {
        const std::size_t most = schema_.dynamic ? 1 : 3, least = schema_.dynamic ? 1 : 2, given = node_.inputs.size();
        if (given >= least && given <= most) return;
        const auto expected = schema_.dynamic ? std::string(name(x))
                                              : concat(name(x), ", ", name(scale), " and perhaps ", name(zero_point));
        refuse(node_, status::invalid_arguments, "inputs: expected ", expected, ", given ", counted(given, "input"));
    }

    void check_input(input position, type_set op_schema::*allowed) const {
        const auto given = type_of(position);
        if (given == type::undefined)
            refuse(node_, status::invalid_arguments, name(position), ": expected an input of type ",
                    names_of(schema_.*allowed), ", given none");
        if (!(schema_.*allowed).contains(given))
            refuse(node_, status::invalid_data_type, name(position), ": expected type ", names_of(schema_.*allowed),
                    ", given ", name_of(given), suggest_opset(node_, given, allowed));
    }

    void check_like_x(input position) const {
        if (type_of(position) != type_of(x))
            refuse(node_, status::invalid_data_type, name(position), ": expected the type of ", name(x), ", ",
                    name_of(type_of(x)), ", given ", name_of(type_of(position)));
    }

    element_type quantized() const {
        const auto zp = type_of(zero_point);
        const auto stated = static_cast<element_type>(values_.output_dtype);
        if (zp == type::undefined) return stated != type::undefined ? stated : type::uint8;
        check_input(zero_point, &op_schema::quantized);
        if (stated != type::undefined && stated != zp)
            refuse(node_, status::invalid_data_type, "attribute 'output_dtype': expected the type of ",
                    name(zero_point), ", ", name_of(zp), ", given ", name_of(stated));
        return zp;
    }

    element_type dequantized() const {
        if (type_of(zero_point) != type::undefined) check_like_x(zero_point);
        if (values_.output_dtype != type::undefined) return static_cast<element_type>(values_.output_dtype);
        if (!schema_.real.contains(type_of(scale)))
            refuse(node_, status::invalid_arguments, "attribute 'output_dtype': expected ", names_of(schema_.real),
                    " beside ", name(scale), " of type ", name_of(type_of(scale)), ", given none");
        return type_of(scale);
    }

    const node &node_;
    const op_schema &schema_;
    const attributes &values_;
};

} // namespace

const op_schema &schema_of(const node &n) {
    const auto newest = newest_opset(n.domain);
    if (newest == 0)
        refuse(n, status::unimplemented, "domain: expected '', 'ai.onnx', 'com.amd.quark' or 'dynquant', given '",
                n.domain, "'", suggest(n.domain, {"ai.onnx", "com.amd.quark", "dynquant"}));
    const auto versions = versions_of(n.domain, n.op_type);
    if (versions.empty()) {
        const auto names = names_in(n.domain);
        refuse(n, status::unimplemented, "operator: expected ", alternatives(names, std::identity {}), ", given '",
                n.op_type, "'", suggest(n.op_type, names));
    }
    if (n.opset < versions.front().since || n.opset > newest)
        refuse(n, status::unimplemented, "opset: expected ", versions.front().since, " to ", newest, ", given ",
                n.opset);
    const auto after = std::ranges::find_if(versions, [&](const op_schema &row) { return row.since > n.opset; });
    return *std::prev(after);
}

checked_node check(const node &n) {
    const auto &schema = schema_of(n);
    const auto values = attributes_of(n, schema);
    checked_node result = {n, schema, values, types(n, schema, values).check(), {}};
    if (schema.dynamic) result.computed = rule_of(n, values);
    return result;
}

std::vector<element_type> output_types(const node &n) {
    const auto checked = check(n);
    if (!checked.computed) return {checked.y};
    return {checked.y, static_cast<element_type>(checked.values.scale_type), checked.y};
}

} // namespace dynquant::onnx
