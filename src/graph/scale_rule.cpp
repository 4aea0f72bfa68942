#include "graph/scale_rule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "elements/table.hpp"
#include "graph/attributes.hpp"
#include "graph/refusal.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/names.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/rule_types.hpp"

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
    const auto words = all_names<Enum>();
    const auto found = std::ranges::find(words, *word);
    if (found == words.end()) refuse_word(op, attribute_name(attr).c_str(), words, *word);
    choice = static_cast<Enum>(found - words.begin());
}

/// Changes single choices of a rule.
void set_choices(scale_rule &rule, const op_record &op) {
    set_flag(rule.narrow, op, narrow_attr);
    set_number(rule.least, op, least_attr);
    set_number(rule.of_zero, op, of_zero_attr);
    set_word(rule.quotient, op, quotient_attr);
    set_word(rule.special, op, nonfinite_attr);
}

bool is_among(std::span<const dnnl_data_type_t> types, dnnl_data_type_t type) {
    return std::ranges::find(types, type) != types.end();
}

/// Those that have numbers there.
std::vector<dnnl_data_type_t> in_onednn(const std::vector<data_type> &types) {
    std::vector<dnnl_data_type_t> result;
    for (const auto type : types)
        if (onednn_type(type) != dnnl_data_type_undef) result.push_back(onednn_type(type));
    return result;
}

/// The rule against the ports. Messages name what this rule takes, which is less than the op does.
struct computed_check {
    const op_record &op;
    stage when;
    scale_rule rule;
    const std::string &name;

    dnnl_data_type_t type_of(size_t output) const { return op.outputs[output].data_type; }
    bool is_unknown(size_t output) const { return type_of(output) == dnnl_data_type_undef && when == stage::add_op; }
    bool has_global_scale() const { return op.inputs.size() > global_scale; }
    std::string for_rule() const { return " for scale_rule " + name; }

    void require_type(size_t output, const std::vector<data_type> &types, const std::string &where) const {
        const auto expected = in_onednn(types);
        if (is_unknown(output) || is_among(expected, type_of(output))) return;
        refuse(op, dnnl_invalid_data_type, find_schema(op)->outputs[output].name, ": expected data type ",
                alternatives(expected, name_of), where, ", given ", name_of(type_of(output)));
    }

    void outputs() const {
        const bool symmetric = rule.range == scale_range::absmax;
        const size_t expected = symmetric ? 2 : 3;
        if (op.outputs.size() != expected)
            refuse(op, dnnl_invalid_graph_op, "outputs: expected ", expected, " (dst, scales", symmetric ? "" : ", zps",
                    ")", for_rule(), ", given ", op.outputs.size());
    }

    /// The named rules for a type of dst, by the known type of scales if there are any.
    std::vector<named_rule> rules_for(data_type dst) const {
        std::vector<named_rule> for_dst, for_both;
        for (auto each : named_rules()) {
            set_choices(each.rule, op);
            if (!is_among(in_onednn(dst_types_of(each.rule)), onednn_type(dst))) continue;
            for_dst.push_back(each);
            if (is_among(in_onednn(scale_types_of(each.rule)), type_of(input::scales))) for_both.push_back(each);
        }
        return for_both.empty() ? for_dst : for_both;
    }

    void dst_type() const {
        const auto types = dst_types_of(rule);
        const auto given = type_of(0);
        if (is_among(in_onednn(types), given) || !is_among(find_schema(op)->outputs.front().types, given))
            return require_type(0, types, for_rule());
        const auto type = *from_onednn(given);
        if (find_attribute<bool>(op, narrow_attr))
            check_choice("narrow", wrong_choice_for_dst(rule, type), concat("dst of ", to_string(type)));
        refuse(op, dnnl_invalid_arguments, "scale_rule: expected ",
                alternatives(rules_for(type), [](const auto &each) { return each.name; }), " for dst of ",
                to_string(type), ", given ", name);
    }

    void zps_type() const {
        if (op.outputs.size() <= input::zps) return;
        if (is_unknown(0)) return require_type(input::zps, dst_types_of(rule), for_rule());
        require_type(input::zps, {*from_onednn(type_of(0))}, ", that of dst");
    }

    /// Another choice than this one comes from the rule's name.
    void check_choice(
            std::string_view choice, const std::optional<wrong_choice> &wrong, const std::string &beside) const {
        if (wrong && wrong->name == choice)
            refuse(op, dnnl_invalid_arguments, choice, ": expected ", wrong->expected, " for ", beside, ", given ",
                    wrong->given);
    }

    void quotient() const {
        check_choice("quotient", wrong_choice_for_scales(rule), "scale_rule " + name);
        if (const auto scales = from_onednn(type_of(input::scales)))
            check_choice("quotient", wrong_choice_for_scales(rule, scales), concat("scales of ", to_string(*scales)));
        if (has_global_scale())
            check_choice("quotient", wrong_choice_for_scales(rule, below_global_scale), "a global_scale");
    }

    void scales_type() const {
        const auto types = scale_types_of(rule);
        if (!has_global_scale()) return require_type(input::scales, types, for_rule());
        if (std::ranges::find(types, below_global_scale) == types.end())
            refuse(op, dnnl_invalid_graph_op, "inputs: expected 1 (src)", for_rule(), ", given ", op.inputs.size());
        require_type(input::scales, {below_global_scale}, " beside a global_scale");
    }
};

} // namespace

scale_rule scale_rule_of(const op_record &op) {
    auto rule = rule_by_name(op);
    set_choices(rule, op);
    return rule;
}

bool saturates(const op_record &op) {
    bool saturate = true;
    set_flag(saturate, op, saturate_attr);
    return saturate;
}

void check_computed(const op_record &op, stage when, const scale_rule &rule) {
    const computed_check check {op, when, rule, rule_name(op)};
    check.outputs();
    check.dst_type();
    check.zps_type();
    check.quotient();
    check.scales_type();
}

} // namespace dynquant::graph::core
