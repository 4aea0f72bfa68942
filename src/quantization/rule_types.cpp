#include "quantization/rule_types.hpp"

#include <algorithm>
#include <span>

#include "elements/table.hpp"
#include "quantization/names.hpp"

namespace dynquant {
namespace {

using enum data_type;
constexpr scale_rounding nearest[] = {scale_rounding::nearest},
                         to_powers[] = {scale_rounding::floor, scale_rounding::ceil, scale_rounding::even,
                                 scale_rounding::rceil};
constexpr data_type real[] = {f32, f16, bf16}, real_or_narrow[] = {f32, f16, bf16, f8_e4m3}, power[] = {f8_e8m0};

/// Which rules go with which types. dst is one of place::computed; multiply_range takes fewer types of scales, because
/// its codes do not see how they were rounded. A range has a type of scales in one row only.
constexpr struct row {
    scale_range range;
    std::span<const scale_rounding> roundings;
    bool to_integers; // dst is an integer, else a type with a sign
    std::span<const data_type> scales, scales_of_multiply_range;
} table[] = {
        {scale_range::absmax, nearest, false, real_or_narrow, real},
        {scale_range::absmax, to_powers, false, power, {}},
        {scale_range::minmax, nearest, true, real, {}},
};

bool contains(const auto &values, auto value) {
    return std::ranges::find(values, value) != values.end();
}

bool takes_dst(const row &r, const data_type_traits &type) {
    return r.to_integers ? type.integral : type.lowest < 0;
}

std::span<const data_type> scales_of(const row &r, scale_quotient quotient) {
    return quotient == scale_quotient::multiply_range ? r.scales_of_multiply_range : r.scales;
}

/// The row with these scales, if any are given, that has the rule's rounding, or else one with its range. Null if there
/// is none.
const row *nearest_row(const scale_rule &rule, std::optional<data_type> scales = {}) {
    const row *found = nullptr;
    for (const auto &r : table)
        if (r.range == rule.range && (!scales || contains(r.scales, *scales))
                && (!found || contains(r.roundings, rule.rounding)))
            found = &r;
    return found;
}

} // namespace

std::vector<data_type> dst_types_of(const scale_rule &rule) {
    std::vector<data_type> result;
    for (const auto &type : data_types)
        if ((type.places & place::computed) != 0 && !wrong_choice_for_dst(rule, type.type)) result.push_back(type.type);
    return result;
}

std::vector<data_type> scale_types_of(const scale_rule &rule) {
    if (wrong_choice_for_scales(rule)) return {};
    const auto types = scales_of(*nearest_row(rule), rule.quotient);
    return {types.begin(), types.end()};
}

std::optional<wrong_choice> wrong_choice_for_dst(const scale_rule &rule, data_type dst) {
    const auto &type = traits(dst);
    if (rule.narrow && !(type.integral && type.lowest < 0)) return wrong_choice {"narrow", "false", type.name, "true"};
    for (const auto &r : table)
        if (!takes_dst(*nearest_row(rule), type) && takes_dst(r, type))
            return wrong_choice {"range", to_string(r.range), type.name, to_string(rule.range)};
    return std::nullopt;
}

std::optional<wrong_choice> wrong_choice_for_scales(const scale_rule &rule, std::optional<data_type> scales) {
    const auto *r = nearest_row(rule, scales);
    if (!r) return std::nullopt;
    const bool has_rounding = contains(r->roundings, rule.rounding);
    const auto types = scales_of(*r, rule.quotient);
    if (has_rounding && (scales ? contains(types, *scales) : !types.empty())) return std::nullopt;
    const auto beside = scales ? concat("scales of ", to_string(*scales))
            : has_rounding && rule.rounding != scale_rounding::nearest
            ? concat("computed.rounding ", to_string(rule.rounding))
            : concat("computed.range ", to_string(rule.range));
    if (has_rounding)
        return wrong_choice {"quotient", "divide or multiply_reciprocal", beside, to_string(rule.quotient)};
    const auto expected = alternatives(r->roundings, [](auto each) { return to_string(each); });
    return wrong_choice {"rounding", expected, beside, to_string(rule.rounding)};
}

} // namespace dynquant
