#include "model/fused_stages.hpp"

#include <algorithm>
#include <map>

#include "layers/match/describe.hpp"
#include "model/activation_table.hpp"
#include "model/layer_notes.hpp"
#include "model/layer_stage.hpp"
#include "model/layer_view.hpp"
#include "model/op_node.hpp"
#include "model/plain_stages.hpp"
#include "model/values.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {
namespace {

using layers::match::layer_match, layers::match::none;

class fusion {
  public:
    fusion(const graph &g, const options &opts)
        : graph_(g)
        , options_(opts)
        , view_(view_of(g))
        , is_taken_(g.nodes.size()) {
        const auto tabulate = [&](std::span<const std::size_t> nodes, data_type from) {
            return table_of(g, nodes, onnx::element_type_of(from), opts);
        };
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            if (!is_product(view_.nodes[i])) continue;
            auto [found, reason] = find_layer(view_, i, is_taken_, tabulate);
            if (!found || found->result != layers::result_type::bytes) {
                reasons_[i] = found ? found->end : reason;
                continue;
            }
            for (const auto node : found->nodes)
                is_taken_[node] = true;
            const auto last = found->nodes.back();
            layers_.emplace(last, std::move(*found));
        }
    }

    /// A layer runs where its last node is: all that it takes is there by then.
    std::vector<placed_stage> stages() const {
        std::vector<placed_stage> result;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
            if (const auto found = layers_.find(i); found != layers_.end())
                result.push_back(stage_of(found->second));
            else if (!is_taken_[i])
                result.push_back(single_stage(i));
        return result;
    }

  private:
    placed_stage single_stage(std::size_t index) const {
        auto result = plain_stage(graph_, graph_.nodes[index], options_);
        const auto reason = reasons_.find(index);
        if (reason == reasons_.end()) return result;
        result.description.note = concat("not fused: ", reason->second);
        result.description.warning = warning_of(describe(view_, view_.nodes[index]), weights_of(index));
        return result;
    }

    placed_stage stage_of(const layer_match &m) const {
        const auto &first = graph_.nodes[m.product];
        auto d = describe(view_, m);
        d.x_is_channels_last = is_channels_last(m.x);
        d.y_is_channels_last = is_channels_last(m.y);
        placed_stage result;
        auto &told = result.description;
        for (const auto input : {m.x, m.x_scale}) {
            if (input == none) continue;
            const auto &v = view_.values[input];
            result.inputs.push_back(v.name);
            if (!v.known) told.inputs.push_back(port_of(graph_, v.name));
        }
        result.output = view_.values[m.y].name;
        told.name = first.name.empty() ? first.outputs.front() : first.name;
        told.pattern = pattern_of(m);
        for (const auto node : m.nodes)
            told.nodes.push_back(label(graph_.nodes[node]));
        told.outputs = {port_of(graph_, result.output)};
        told.warning = warning_of(d, weights_of(m.product));
        auto stage = make_layer_stage(check(graph_, first), d, options_);
        result.work = std::move(stage.work);
        const auto multipliers = multipliers_of(m);
        if (multipliers.empty() || multipliers.size() > 2) return result;
        auto &rescale = told.rescale.emplace();
        rescale.multipliers = m.post_ops[0].a;
        if (multipliers.size() > 1) rescale.shifts = m.post_ops[1].a;
        rescale.folded = stage.is_folded;
        told.note = note_of(view_, multipliers, rescale);
        return result;
    }

    /// The constants of the Muls right behind Cast, which are the first steps: no other operator here becomes
    /// `multiply`.
    std::vector<std::size_t> multipliers_of(const layer_match &m) const {
        std::vector<std::size_t> result;
        for (const auto index : m.nodes) {
            const auto &n = view_.nodes[index];
            if (result.size() == m.post_ops.size() || m.post_ops[result.size()].what != layers::post_op_kind::multiply)
                break;
            if (n.is(layers::match::op::mul)) result.push_back(n.inputs[view_.input(n, 0).known ? 0 : 1]);
        }
        return result;
    }

    /// "fully connected", "convolution with ReLU", "fully connected with fp16 Tanh"
    std::string pattern_of(const layer_match &m) const {
        bool has_relu = false, is_half = false;
        std::string curve;
        for (const auto node : m.nodes) {
            const auto &n = view_.nodes[node];
            has_relu |= n.is(layers::match::op::relu);
            is_half |= view_.output(n).type == data_type::f16;
            if (n.is(layers::match::op::tanh, layers::match::op::sigmoid)) curve = n.op_type;
        }
        auto pattern =
                concat(is_convolution(m.product) ? "convolution" : "fully connected", has_relu ? " with ReLU" : "");
        if (!curve.empty()) pattern += concat(has_relu ? " and " : " with ", is_half ? "fp16 " : "int8 ", curve);
        return pattern;
    }

    std::span<const std::byte> weights_of(std::size_t product) const {
        return graph_.initializers.at(graph_.nodes[product].inputs[1]).data;
    }

    /// Whether a value is stored channels last, although its ONNX shape is channels first: where its producer and all
    /// its users are fused convolutions.
    bool is_channels_last(std::size_t value) const {
        const auto &v = view_.values[value];
        const auto is_fused_convolution = [&](std::size_t node) { return is_taken_[node] && is_convolution(node); };
        const auto from = layers_.find(v.producer);
        return from != layers_.end() && is_convolution(from->second.product) && !v.consumers.empty()
                && !v.is_seen_outside && std::ranges::all_of(v.consumers, is_fused_convolution);
    }

    bool is_convolution(std::size_t node) const { return view_.nodes[node].is(layers::match::op::conv_integer); }

    const graph &graph_;
    const options &options_;
    layers::match::graph view_;
    std::vector<bool> is_taken_;                 // for each node, whether a layer has it
    std::map<std::size_t, layer_match> layers_;  // by the last node
    std::map<std::size_t, std::string> reasons_; // why other products are no layers
};

} // namespace

std::vector<placed_stage> fused_stages(const graph &g, const options &opts) {
    return fusion(g, opts).stages();
}

} // namespace dynquant::models
