#include "model/match.hpp"

#include <algorithm>
#include <functional>

#include "model/match_rules.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {
namespace {

struct step {
    const step_rule *rule;
    bool optional = false;
};

/// The steps after the product. One Mul is Quant_multiplier, two are Quant_scale and Quant_shift.
constexpr step rescaling[] = {
        {&bias_rule, true}, {&cast_to_float_rule}, {&multiplier_rule}, {&multiplier_rule, true}, {&relu_rule, true}};

/// The steps after the rescaling, longest first.
constexpr step int8_activation[] = {{&rescaled_rule}, {&dequantize_rule}, {&function_rule}, {&result_rule}};
constexpr step fp16_activation[] = {{&rescaled_rule}, {&dequantize_rule}, {&cast_to_float16_rule}, {&function_rule},
        {&cast_from_float16_rule}, {&result_rule}};
constexpr step fp16_activation_at_once[] = {
        {&cast_to_float16_rule}, {&function_rule}, {&cast_from_float16_rule}, {&result_rule}};
constexpr step no_activation[] = {{&rescaled_rule}};

struct ending {
    std::span<const step> steps;
    const char *precision;  // of the activation, in the pattern's name; null for none
    std::size_t activation; // number of last steps that map rescaled values to results
};

constexpr ending endings[] = {{fp16_activation, "fp16", 5}, {int8_activation, "int8", 3},
        {fp16_activation_at_once, "fp16", 3}, {no_activation, nullptr, 0}};

bool has_operator_of(const step_rule &rule, const node &n) {
    return n.domain.empty() && std::ranges::any_of(rule.operators, [&](const char *op) { return n.op_type == op; });
}

/// Follows a chain of nodes from a product.
class chain_matcher {
  public:
    chain_matcher(const graph &g, const users &u, std::size_t product)
        : graph_(g)
        , users_(u)
        , axis_(channel_axis(g, g.nodes[product])) {
        layer_.nodes = {product};
        layer_.result = g.nodes[product].outputs.front();
    }

    /// Whether the next nodes match these steps. Adds the nodes that do, up to the first mismatch.
    bool take(std::span<const step> steps) {
        return std::ranges::all_of(steps, [&](const step &s) { return take(s); });
    }

    const layer &so_far() const { return layer_; }
    const std::string &reason() const { return reason_; }

  private:
    bool take(const step &s) {
        const auto next = only_user();
        if (!next) return false;
        const auto &n = graph_.nodes[*next];
        if (!has_operator_of(*s.rule, n)) {
            if (s.optional) return true;
            reason_ = concat("after '", layer_.result, "' expected ", alternatives(s.rule->operators, std::identity {}),
                    ", given ", label(n));
            return false;
        }
        if (const auto why = s.rule->accept({graph_, n, layer_.result, axis_}, layer_)) {
            reason_ = *why;
            return false;
        }
        layer_.nodes.push_back(*next);
        layer_.result = n.outputs.front();
        return true;
    }

    std::optional<std::size_t> only_user() {
        const auto &taken_by = users_.of(layer_.result);
        if (users_.is_output(layer_.result))
            reason_ = concat(
                    "value '", layer_.result, "' is ", taken_by.empty() ? "" : "also ", "an output of the graph");
        else if (taken_by.size() != 1)
            reason_ = concat("value '", layer_.result, "': expected one node that takes it, given ", taken_by.size());
        else
            return taken_by.front();
        return std::nullopt;
    }

    const graph &graph_;
    const users &users_;
    std::size_t axis_;
    layer layer_;
    std::string reason_;
};

std::string name_of_function(const graph &g, const layer &l) {
    for (const auto index : l.nodes)
        if (has_operator_of(function_rule, g.nodes[index])) return g.nodes[index].op_type;
    return {};
}

std::string name_of_pattern(const graph &g, const layer &l, const ending &e) {
    auto name = concat(g.nodes[l.nodes.front()].op_type == "ConvInteger" ? "convolution" : "fully connected",
            l.relu ? " with ReLU" : "");
    if (e.precision) name += concat(l.relu ? " and " : " with ", e.precision, " ", name_of_function(g, l));
    return name;
}

} // namespace

users::users(const graph &g) {
    for (std::size_t i = 0; i < g.nodes.size(); ++i)
        for (const auto &input : g.nodes[i].inputs)
            if (!input.empty()) of_[input].push_back(i);
    for (const auto &output : g.outputs)
        outputs_.insert(output.name);
}

const std::vector<std::size_t> &users::of(const std::string &value) const {
    static const std::vector<std::size_t> none;
    const auto found = of_.find(value);
    return found == of_.end() ? none : found->second;
}

bool is_product(const node &n) {
    return n.domain.empty() && (n.op_type == "MatMulInteger" || n.op_type == "ConvInteger");
}

std::size_t channel_axis(const graph &g, const node &product) {
    if (product.op_type == "ConvInteger") return 1;
    const auto rank = g.value_types.at(product.outputs.front()).shape.size();
    const bool is_vector = g.value_types.at(product.inputs[1]).shape.size() == 1;
    return is_vector ? rank : rank - 1;
}

match match_layer(const graph &g, const users &u, std::size_t product) {
    chain_matcher rescaled(g, u, product);
    if (!rescaled.take(rescaling)) return {std::nullopt, rescaled.reason()};
    match result;
    std::size_t most = 0; // nodes of the longest partial match, whose reason is reported
    for (const auto &e : endings) {
        chain_matcher whole = rescaled;
        const bool fits = whole.take(e.steps);
        auto found = whole.so_far();
        if (fits) {
            found.pattern = name_of_pattern(g, found, e);
            found.activation = e.activation;
            return {std::move(found)};
        }
        if (found.nodes.size() <= most) continue;
        most = found.nodes.size();
        result.reason = whole.reason();
    }
    return result;
}

} // namespace dynquant::models
