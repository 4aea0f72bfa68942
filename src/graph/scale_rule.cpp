#include "graph/scale_rule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "graph/attributes.hpp"
#include "graph/refusal.hpp"
#include "quantization/data_type.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/names.hpp"
#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

const std::string &rule_name(const op_record &op) {
    return *find_attribute<std::string>(op, scale_rule_attr);
}

[[noreturn]] void refuse_word(
        const op_record &op, const char *attribute, const std::vector<std::string> &words, const std::string &given) {
    refuse(op, dnnl_invalid_arguments, attribute, ": expected ", alternatives(words, std::identity {}), ", given '",
            given, "'", suggest(given, words));
}

scale_rule rule_by_name(const op_record &op) {
    const auto &name = rule_name(op);
    if (const auto *rule = find_rule(name)) return *rule;
    const auto rules = named_rules();
    std::vector<std::string> words(rules.size());
    std::ranges::transform(rules, words.begin(), &named_rule::name);
    refuse_word(op, "scale_rule", words, name);
}

void set_flag(bool &choice, const op_record &op, dnnl_graph_op_attr_t attr) {
    if (const auto *flag = find_attribute<bool>(op, attr)) choice = *flag;
}

void set_number(double &choice, const op_record &op, dnnl_graph_op_attr_t attr) {
    const auto *list = find_attribute<std::vector<float>>(op, attr);
    if (!list) return;
    const auto value = list->front();
    if (!std::isfinite(value) || value < 0)
        refuse(op, dnnl_invalid_arguments, attribute_name(attr), ": expected a finite number of 0 or more, given ",
                value);
    choice = value;
}

template <typename Enum>
void set_word(Enum &choice, const op_record &op, dnnl_graph_op_attr_t attr) {
    const auto *word = find_attribute<std::string>(op, attr);
    if (!word) return;
    std::vector<std::string> words; // enumerators count from 0
    for (int i = 0; const char *name = find_name(static_cast<Enum>(i)); ++i) {
        words.emplace_back(name);
        choice = static_cast<Enum>(i);
        if (words.back() == *word) return;
    }
    refuse_word(op, attribute_name(attr).c_str(), words, *word);
}

/// The rule against the ports. dst and scales are empty while their types are unknown.
struct computed_check {
    const op_record &op;
    scale_rule rule;
    const std::string &name;
    std::optional<data_type> dst, scales;

    void outputs() const {
        const bool symmetric = rule.range == scale_range::absmax;
        const size_t expected = symmetric ? 2 : 3;
        if (op.outputs.size() != expected)
            refuse(op, dnnl_invalid_graph_op, "outputs: expected ", expected, " (dst, scales", symmetric ? "" : ", zps",
                    ") for scale_rule ", name, ", given ", op.outputs.size());
    }

    void dst_type() const {
        if (!dst) return;
        const auto &type = traits(*dst);
        const auto range = !type.integral ? scale_range::absmax : type.lowest == 0 ? scale_range::minmax : rule.range;
        if (rule.range != range) {
            std::vector<named_rule> fitting;
            std::ranges::copy_if(named_rules(), std::back_inserter(fitting),
                    [&](const named_rule &each) { return each.rule.range == range; });
            refuse(op, dnnl_invalid_arguments, "scale_rule: expected ",
                    alternatives(fitting, [](const auto &each) { return each.name; }), " for dst of ", type.name,
                    ", given ", name);
        }
        if (rule.narrow && (!type.integral || type.lowest == 0))
            refuse(op, dnnl_invalid_arguments, "narrow: expected false for dst of ", type.name, ", given true");
    }

    void zps_type() const {
        if (op.outputs.size() <= input::zps) return;
        const auto zps = from_onednn(op.outputs[input::zps].data_type);
        if (dst && zps && *zps != *dst)
            refuse(op, dnnl_invalid_data_type, "zps: expected data type ", to_string(*dst), ", that of dst, given ",
                    to_string(*zps));
    }

    void quotient() const {
        if (rule.quotient != scale_quotient::multiply_range) return;
        const auto refuse_for = [&](const std::string &what) {
            refuse(op, dnnl_invalid_arguments, "quotient: expected divide or multiply_reciprocal for ", what,
                    ", given multiply_range");
        };
        if (rule.range == scale_range::minmax || to_powers_of_two()) refuse_for("scale_rule " + name);
        if (scales == data_type::f8_e4m3) refuse_for("scales of f8_e4m3");
    }

    void scales_type() const {
        if (!scales) return;
        std::vector<data_type> allowed = {data_type::f32, data_type::f16, data_type::bf16};
        if (rule.range == scale_range::absmax) allowed.push_back(data_type::f8_e4m3);
        if (to_powers_of_two()) allowed = {data_type::f8_e8m0};
        if (std::ranges::find(allowed, *scales) == allowed.end())
            refuse(op, dnnl_invalid_data_type, "scales: expected data type ",
                    alternatives(allowed, [](data_type each) { return to_string(each); }), " for scale_rule ", name,
                    ", given ", to_string(*scales));
        if (op.inputs.size() > global_scale && *scales != data_type::f8_e4m3)
            refuse(op, dnnl_invalid_data_type, "scales: expected data type f8_e4m3 beside a global_scale, given ",
                    to_string(*scales));
    }

    bool to_powers_of_two() const { return rule.rounding != scale_rounding::nearest; }
};

} // namespace

scale_rule scale_rule_of(const op_record &op) {
    auto rule = rule_by_name(op);
    set_flag(rule.narrow, op, narrow_attr);
    set_number(rule.least, op, least_attr);
    set_number(rule.of_zero, op, of_zero_attr);
    set_word(rule.quotient, op, quotient_attr);
    set_word(rule.special, op, nonfinite_attr);
    return rule;
}

bool saturates(const op_record &op) {
    bool saturate = true;
    set_flag(saturate, op, saturate_attr);
    return saturate;
}

void check_computed(const op_record &op) {
    const auto type = [&](size_t position) {
        return op.outputs.size() > position ? from_onednn(op.outputs[position].data_type) : std::nullopt;
    };
    const computed_check check {op, scale_rule_of(op), rule_name(op), type(0), type(input::scales)};
    check.outputs();
    check.dst_type();
    check.zps_type();
    check.quotient();
    check.scales_type();
}

} // namespace dynquant::graph::core
