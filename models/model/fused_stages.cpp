#include "model/fused_stages.hpp"

#include <algorithm>

#include "layers/zero_points.hpp"
#include "model/layer_notes.hpp"
#include "model/layer_product.hpp"
#include "model/layer_rescale.hpp"
#include "model/match.hpp"
#include "model/operators/products.hpp"
#include "model/plain_stages.hpp"
#include "model/values.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// A product, whose sums are in scratch memory, and their rescaling.
class fused_layer final : public stage {
  public:
    fused_layer(std::unique_ptr<const layers::integer_sums> product, std::int32_t x_zero_point,
            std::unique_ptr<const layers::layer_rescale> rescale, std::int64_t sums)
        : product_(std::move(product))
        , x_zero_point_(x_zero_point)
        , rescale_(std::move(rescale))
        , sums_bytes_((static_cast<std::size_t>(sums) * sizeof(std::int32_t) + 63) / 64 * 64) {}

    std::size_t scratch_bytes() const override {
        return sums_bytes_ + std::max(product_->scratch_bytes(), rescale_->scratch_bytes());
    }

    void run(const stage_arguments &args) const override {
        auto *const sums = reinterpret_cast<std::int32_t *>(args.scratch);
        auto *const rest = args.scratch + sums_bytes_;
        product_->run(args.inputs[0], x_zero_point_, sums, rest);
        rescale_->run(sums, static_cast<std::uint8_t *>(args.output), rest);
    }

  private:
    std::unique_ptr<const layers::integer_sums> product_;
    std::int32_t x_zero_point_;
    std::unique_ptr<const layers::layer_rescale> rescale_;
    std::size_t sums_bytes_;
};

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
        const bool folded = prepare(l, product, result.work);
        describe(l, product, folded, result.description);
        return result;
    }

    /// Returns whether two multipliers are folded into one.
    bool prepare(const layer &l, const op_node &product, std::unique_ptr<const stage> &work) const {
        const auto sums = *volume(graph_.value_types.at(product.given.outputs.front()).shape);
        if (sums == 0) {
            work = make_stage([](const stage_arguments &) {});
            return false;
        }
        auto multiply = make_layer_product(product, is_channels_last(product.given.inputs.front()), settings_);
        const auto x_zero_point = x_zero_point_of(product);
        const auto bias = layers::zero_point_bias(multiply->weight_sums(), x_zero_point);
        auto rescale = make_layer_rescale(graph_, l, shape_of(l), bias, settings_);
        const bool folded = rescale->is_folded();
        work = std::make_unique<fused_layer>(std::move(multiply), x_zero_point, std::move(rescale), sums);
        return folded;
    }

    void describe(const layer &l, const op_node &product, bool folded, model_stage &to) const {
        auto &rescale = to.rescale.emplace();
        rescale.multipliers = values_of<float>(*l.multipliers.front());
        if (l.multipliers.size() > 1) rescale.shifts = values_of<float>(*l.multipliers.back());
        rescale.folded = folded;
        to.note = note_of(graph_, l, rescale);
        to.warning = warning_of(product, l.bias);
    }

    layers::layer_shape shape_of(const layer &l) const {
        const auto &product = graph_.nodes[l.nodes.front()];
        const auto &shape = graph_.value_types.at(product.outputs.front()).shape;
        const auto axis = channel_axis(graph_, product);
        const std::int64_t channels = axis < shape.size() ? shape[axis] : 1, elements = *volume(shape);
        if (product.op_type != "ConvInteger") return {elements / channels, 1, channels, true};
        return {shape[0], elements / shape[0] / channels, channels, is_channels_last(l.result)};
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
