// The rules by which dynquant's DynamicQuantizeLinear computes scales.
#include <functional>

#include "onnx/check.hpp"
#include "onnx/refusal.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/rule_types.hpp"

namespace dynquant::onnx {
namespace {

constexpr type_set unsigned_integers = {type::uint8, type::uint4};
constexpr type_set integers = unsigned_integers | type_set {type::int8, type::int4};
constexpr type_set asymmetric_scales = {type::float32, type::float16, type::bfloat16};

struct result_types {
    element_type y, scale;
};

bool fits(const scale_rule &rule, result_types types) {
    return dynquant::fits(rule, *data_type_of(types.y), *data_type_of(types.scale));
}

scale_rule default_rule(const node &n, const attributes &values, result_types types) {
    if (values.symmetric == 0) {
        if (!integers.contains(types.y))
            refuse(n, status::invalid_arguments, "attribute 'symmetric': expected 1 for y of type ", name_of(types.y),
                    ", given 0");
        if (!asymmetric_scales.contains(types.scale))
            refuse(n, status::invalid_data_type, "attribute 'scale_type': expected ", names_of(asymmetric_scales),
                    " where 'symmetric' is 0, given ", name_of(types.scale));
        return presets::onnx();
    }
    if (unsigned_integers.contains(types.y))
        refuse(n, status::invalid_arguments, "attribute 'symmetric': expected 0 for y of type ", name_of(types.y),
                ", given 1");
    auto rule = types.scale == type::float8e8m0 ? presets::mx()
            : types.scale == type::float8e4m3fn ? presets::nvfp4()
                                                : scale_rule();
    rule.narrow = integers.contains(types.y);
    return rule;
}

/// Whether the rule has the stated symmetry, if one is.
bool fits(const scale_rule &rule, const node &n, const attributes &values) {
    return !states(n, "symmetric") || (rule.range == scale_range::absmax) == (values.symmetric == 1);
}

scale_rule stated_rule(const node &n, const attributes &values, result_types types) {
    const auto *rule = find_rule(values.rule);
    if (!rule || !fits(*rule, types)) {
        std::vector<std::string> names;
        for (const auto &row : named_rules())
            if (fits(row.rule, types) && fits(row.rule, n, values)) names.emplace_back(row.name);
        if (names.empty()) return default_rule(n, values, types); // refuses: no rule fits, whatever its name
        refuse(n, status::invalid_arguments, "attribute 'rule': expected ", alternatives(names, std::identity {}),
                " for y of type ", name_of(types.y), " and y_scale of type ", name_of(types.scale),
                states(n, "symmetric") ? concat(" where 'symmetric' is ", values.symmetric) : "", ", given '",
                values.rule, "'", suggest(values.rule, names));
    }
    if (!fits(*rule, n, values))
        refuse(n, status::invalid_arguments, "attribute 'symmetric': expected ", 1 - values.symmetric, " beside rule '",
                values.rule, "', given ", values.symmetric);
    return *rule;
}

type_set numbers_of(const std::vector<data_type> &types) {
    type_set result;
    for (const auto type : types)
        result = result | type_set {element_type_of(type)};
    return result;
}

} // namespace

type_set y_types_for(const node &n, const attributes &values, const op_schema &schema) {
    if (const auto *rule = find_rule(values.rule)) return numbers_of(dst_types_of(*rule));
    if (!states(n, "symmetric")) return schema.quantized;
    scale_rule rule;
    rule.range = values.symmetric == 1 ? scale_range::absmax : scale_range::minmax;
    return numbers_of(dst_types_of(rule));
}

type_set scale_types_for(const attributes &values, const op_schema &schema) {
    if (const auto *rule = find_rule(values.rule)) return numbers_of(scale_types_of(*rule));
    return values.symmetric == 1 ? schema.scale : asymmetric_scales;
}

scale_rule rule_of(const node &n, const attributes &values) {
    const result_types types {static_cast<element_type>(values.to), static_cast<element_type>(values.scale_type)};
    return values.rule.empty() ? default_rule(n, values, types) : stated_rule(n, values, types);
}

} // namespace dynquant::onnx
