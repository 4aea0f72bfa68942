// The rules by which dynquant's DynamicQuantizeLinear computes scales.
#include <functional>

#include "onnx/check.hpp"
#include "onnx/refusal.hpp"
#include "quantization/named_rules.hpp"

namespace dynquant::onnx {
namespace {

constexpr type_set unsigned_integers = {type::uint8, type::uint4};
constexpr type_set integers = unsigned_integers | type_set {type::int8, type::int4};
constexpr type_set asymmetric_scales = {type::float32, type::float16, type::bfloat16};

struct result_types {
    element_type y, scale;
};

/// Whether there is a statement of these.
bool fits(const scale_rule &rule, result_types types) {
    quantization q;
    q.src = {data_type::f32, {1}, {}};
    q.dst = {*data_type_of(types.y), {1}, {}};
    q.scales = {*data_type_of(types.scale), {1}, {}};
    if (rule.range == scale_range::minmax) q.zero_points = {q.dst.type, {1}, {}};
    q.rule = numerics::onnx;
    q.computed = rule;
    return !dynquant::check(q);
}

scale_rule stated_rule(const node &n, const attributes &values, result_types types) {
    const auto *rule = find_rule(values.rule);
    if (!rule || !fits(*rule, types)) {
        std::vector<std::string> names;
        for (const auto &row : named_rules())
            if (fits(row.rule, types)) names.emplace_back(row.name);
        refuse(n, dnnl_invalid_arguments, "attribute 'rule': expected ",
                names.empty() ? "none" : alternatives(names, std::identity {}), " for y of type ", name_of(types.y),
                " and y_scale of type ", name_of(types.scale), ", given '", values.rule, "'",
                suggest(values.rule, names));
    }
    const std::int64_t symmetric = rule->range == scale_range::absmax ? 1 : 0;
    if (states(n, "symmetric") && values.symmetric != symmetric)
        refuse(n, dnnl_invalid_arguments, "attribute 'symmetric': expected ", symmetric, " beside rule '", values.rule,
                "', given ", values.symmetric);
    return *rule;
}

scale_rule default_rule(const node &n, const attributes &values, result_types types) {
    if (values.symmetric == 0) {
        if (!integers.contains(types.y))
            refuse(n, dnnl_invalid_arguments, "attribute 'symmetric': expected 1 for y of type ", name_of(types.y),
                    ", given 0");
        if (!asymmetric_scales.contains(types.scale))
            refuse(n, dnnl_invalid_data_type, "attribute 'scale_type': expected ", names_of(asymmetric_scales),
                    " where 'symmetric' is 0, given ", name_of(types.scale));
        return presets::onnx();
    }
    if (unsigned_integers.contains(types.y))
        refuse(n, dnnl_invalid_arguments, "attribute 'symmetric': expected 0 for y of type ", name_of(types.y),
                ", given 1");
    auto rule = types.scale == type::float8e8m0 ? presets::mx()
            : types.scale == type::float8e4m3fn ? presets::nvfp4()
                                                : scale_rule();
    rule.narrow = integers.contains(types.y);
    return rule;
}

} // namespace

scale_rule rule_of(const node &n, const attributes &values) {
    const result_types types {static_cast<element_type>(values.to), static_cast<element_type>(values.scale_type)};
    return values.rule.empty() ? default_rule(n, values, types) : stated_rule(n, values, types);
}

} // namespace dynquant::onnx
