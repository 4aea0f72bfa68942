#include "quantization/rule_types.hpp"

#include <algorithm>

#include "elements/table.hpp"

namespace dynquant {
namespace {

bool contains(const std::vector<data_type> &types, data_type type) {
    return std::ranges::find(types, type) != types.end();
}

} // namespace

std::vector<data_type> dst_types_of(const scale_rule &rule) {
    std::vector<data_type> result;
    for (const auto &type : data_types) {
        const bool in_range = rule.range == scale_range::minmax ? type.integral : type.lowest < 0;
        const bool in_codes = !rule.narrow || (type.integral && type.lowest < 0);
        if ((type.places & place::computed) != 0 && in_range && in_codes) result.push_back(type.type);
    }
    return result;
}

std::vector<data_type> scale_types_of(const scale_rule &rule) {
    const bool to_powers = rule.rounding != scale_rounding::nearest, asymmetric = rule.range == scale_range::minmax;
    const bool by_range = rule.quotient == scale_quotient::multiply_range;
    if (int {to_powers} + int {asymmetric} + int {by_range} > 1) return {};
    if (to_powers) return {data_type::f8_e8m0};
    std::vector result = {data_type::f32, data_type::f16, data_type::bf16};
    if (!asymmetric && !by_range) result.push_back(data_type::f8_e4m3);
    return result;
}

bool fits(const scale_rule &rule, data_type dst, data_type scales) {
    return contains(dst_types_of(rule), dst) && contains(scale_types_of(rule), scales);
}

} // namespace dynquant
