#include "model/fused_stages.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "model/activation_table.hpp"
#include "model/layer_notes.hpp"
#include "model/layer_stage.hpp"
#include "model/match.hpp"
#include "model/plain_stages.hpp"
#include "model/values.hpp"

namespace dynquant::models {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

layers::step multiply_by(const tensor &multipliers) {
    return {layers::float_step::kind::multiply, values_of<float>(multipliers)};
}

class fusion {
  public:
    fusion(const graph &g, const settings &s)
        : graph_(g)
        , settings_(s)
        , users_(g) {
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            if (!is_product(g.nodes[i])) continue;
            auto matched = match_layer(g, users_, i);
            reasons_[i] = matched.reason;
            if (!matched.found) continue;
            for (const auto node : matched.found->nodes)
                in_layer_.insert(node);
            layers_.emplace(i, std::move(*matched.found));
        }
    }

    std::vector<placed_stage> stages() const {
        std::vector<placed_stage> result;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
            if (const auto found = layers_.find(i); found != layers_.end())
                result.push_back(stage_of(found->second));
            else if (!in_layer_.contains(i))
                result.push_back(single_stage(i));
        return result;
    }

  private:
    placed_stage single_stage(std::size_t index) const {
        auto result = plain_stage(graph_, graph_.nodes[index], settings_);
        const auto reason = reasons_.find(index);
        if (reason == reasons_.end()) return result;
        result.description.note = concat("not fused: ", reason->second);
        result.description.warning = warning_of(check(graph_, graph_.nodes[index]), nullptr);
        return result;
    }

    placed_stage stage_of(const layer &l) const {
        const auto &first = graph_.nodes[l.nodes.front()];
        const auto product = check(graph_, first);
        placed_stage result;
        result.inputs = {first.inputs.front()};
        result.output = l.result;
        result.description = {first.name.empty() ? first.outputs.front() : first.name, l.pattern, {}, {},
                {port_of(graph_, first.inputs.front())}, {port_of(graph_, l.result)}};
        for (const auto node : l.nodes)
            result.description.nodes.push_back(label(graph_.nodes[node]));
        auto stage = make_layer_stage(product, description_of(l, product));
        result.work = std::move(stage.work);
        describe(l, product, stage.is_folded, result.description);
        return result;
    }

    layers::layer_description description_of(const layer &l, const op_node &product) const {
        using kind = layers::float_step::kind;
        auto d = describe_product(product, settings_);
        d.x_is_channels_last = is_channels_last(product.given.inputs.front());
        d.y_is_channels_last = is_channels_last(l.result);
        if (l.bias) d.bias = values_of<std::int32_t>(*l.bias);
        std::ranges::transform(
                l.multipliers, std::back_inserter(d.steps), [](const tensor *m) { return multiply_by(*m); });
        if (l.relu) d.steps.push_back({kind::clip, {0}, {infinity}});
        d.result = layers::step_result::bytes;
        const auto activation = std::span(l.nodes).last(l.activation);
        if (l.rescaled == onnx::type::float16) {
            d.steps.push_back({kind::look_up, {}, {}, table_of(graph_, activation, l.rescaled, settings_)});
            return d;
        }
        const bool is_signed = l.rescaled == onnx::type::int8;
        d.steps.push_back({kind::saturate, {is_signed ? -128.0F : 0.0F}, {is_signed ? 127.0F : 255.0F}});
        if (!activation.empty())
            std::ranges::copy(table_of(graph_, activation, l.rescaled, settings_), d.table.emplace().begin());
        return d;
    }

    void describe(const layer &l, const op_node &product, bool folded, model_stage &to) const {
        auto &rescale = to.rescale.emplace();
        rescale.multipliers = values_of<float>(*l.multipliers.front());
        if (l.multipliers.size() > 1) rescale.shifts = values_of<float>(*l.multipliers.back());
        rescale.folded = folded;
        to.note = note_of(graph_, l, rescale);
        to.warning = warning_of(product, l.bias);
    }

    /// Whether a value is stored channels last, although its ONNX shape is channels first: where its producer and all
    /// its users are fused convolutions.
    bool is_channels_last(const std::string &value) const {
        const auto is_convolution = [&](std::size_t node) {
            return layers_.contains(node) && graph_.nodes[node].op_type == "ConvInteger";
        };
        const auto &takers = users_.of(value);
        return !takers.empty() && !users_.is_output(value) && std::ranges::all_of(takers, is_convolution)
                && std::ranges::any_of(layers_,
                        [&](const auto &item) { return item.second.result == value && is_convolution(item.first); });
    }

    const graph &graph_;
    const settings &settings_;
    users users_;
    std::map<std::size_t, layer> layers_; // by the product's index
    std::map<std::size_t, std::string> reasons_;
    std::set<std::size_t> in_layer_;
};

} // namespace

std::vector<placed_stage> fused_stages(const graph &g, const settings &s) {
    return fusion(g, s).stages();
}

} // namespace dynquant::models
