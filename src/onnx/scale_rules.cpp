// The rules by which dynquant's DynamicQuantizeLinear computes scales.
#include <functional>

#include "onnx/check.hpp"
#include "onnx/refusal.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/rule_types.hpp"

namespace dynquant::onnx {
namespace {

struct result_types {
    element_type y, scale;
};

bool fits(const scale_rule &rule, result_types types) {
    return type_set(dst_types_of(rule)).contains(types.y) && type_set(scale_types_of(rule)).contains(types.scale);
}

scale_rule of_symmetry(std::int64_t symmetric) {
    return symmetric == 1 ? scale_rule() : presets::onnx();
}

scale_rule default_rule(const node &n, const attributes &values, result_types types) {
    const auto of_range = of_symmetry(values.symmetric);
    if (!type_set(dst_types_of(of_range)).contains(types.y))
        refuse(n, status::invalid_arguments, "attribute 'symmetric': expected ", 1 - values.symmetric,
                " for y of type ", name_of(types.y), ", given ", values.symmetric);
    if (values.symmetric == 0) {
        const type_set scales = scale_types_of(of_range);
        if (!scales.contains(types.scale))
            refuse(n, status::invalid_data_type, "attribute 'scale_type': expected ", names_of(scales),
                    " where 'symmetric' is 0, given ", name_of(types.scale));
        return of_range;
    }
    auto rule = types.scale == type::float8e8m0 ? presets::mx()
            : types.scale == type::float8e4m3fn ? presets::nvfp4()
                                                : scale_rule();
    rule.narrow = traits(*data_type_of(types.y)).integral;
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

} // namespace

type_set y_types_for(const node &n, const attributes &values, const op_schema &schema) {
    if (const auto *rule = find_rule(values.rule)) return dst_types_of(*rule);
    if (!states(n, "symmetric")) return schema.quantized;
    return dst_types_of(of_symmetry(values.symmetric));
}

type_set scale_types_for(const attributes &values, const op_schema &schema) {
    if (const auto *rule = find_rule(values.rule)) return scale_types_of(*rule);
    return values.symmetric == 1 ? schema.scale : scale_types_of(presets::onnx());
}

scale_rule rule_of(const node &n, const attributes &values) {
    const result_types types {static_cast<element_type>(values.to), static_cast<element_type>(values.scale_type)};
    return values.rule.empty() ? default_rule(n, values, types) : stated_rule(n, values, types);
}

} // namespace dynquant::onnx
