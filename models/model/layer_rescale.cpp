#include "model/layer_rescale.hpp"

#include <algorithm>

#include "layers/float16_activation.hpp"
#include "layers/lookup/lookup.hpp"
#include "model/activation_table.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"
#include "quantization/environment.hpp"

namespace dynquant::models {
namespace {

/// The sum of both biases, wrapping: empty, one value, or one per channel.
std::vector<std::int32_t> bias_of(const layer &l, const std::vector<std::int32_t> &product_bias) {
    if (!l.bias) return product_bias;
    auto bias = values_of<std::int32_t>(*l.bias);
    if (product_bias.empty()) return bias;
    const auto of_layer = std::move(bias);
    bias = product_bias;
    for (std::size_t c = 0; c < bias.size(); ++c)
        bias[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[c])
                + static_cast<std::uint32_t>(of_layer[of_layer.size() == 1 ? 0 : c]));
    return bias;
}

/// The parameters of a rescaling. All have one element, or all that are not empty have one per channel.
layers::rescale_parameters parameters_of(
        const layer &l, const std::vector<std::int32_t> &product_bias, std::size_t channels) {
    layers::rescale_parameters p;
    p.bias = bias_of(l, product_bias);
    p.first = values_of<float>(*l.multipliers[0]);
    if (l.multipliers.size() > 1) p.second = values_of<float>(*l.multipliers[1]);
    p.relu = l.relu;
    const auto count = std::max({p.bias.size(), p.first.size(), p.second.size()}) > 1 ? channels : 1;
    const auto spread = [=](auto &values) {
        if (values.size() == 1) values.resize(count, values.front());
    };
    spread(p.bias);
    spread(p.first);
    spread(p.second);
    return p;
}

/// Verbose lines name the layer's first node, unless the caller has set a name.
options named(options given, const node &product) {
    if (given.name.empty()) given.name = label(product);
    return given;
}

std::span<const std::size_t> activation_nodes(const layer &l) {
    return std::span(l.nodes).last(l.activation);
}

std::optional<layers::activation> activation_of(const graph &g, const layer &l, const settings &s) {
    if (l.activation == 0) return std::nullopt;
    layers::activation result {
            lookup::function_for(environment::usable_features(s.kernel.max_isa)), {}, s.kernel.threads};
    std::ranges::copy(table_of(g, activation_nodes(l), l.rescaled, s), result.values.begin());
    return result;
}

} // namespace

std::unique_ptr<const layers::layer_rescale> make_layer_rescale(const graph &g, const layer &l,
        const layers::layer_shape &shape, const std::vector<std::int32_t> &product_bias, const settings &s) {
    const auto p = parameters_of(l, product_bias, static_cast<std::size_t>(shape.channels));
    if (l.rescaled == onnx::type::float16)
        return std::make_unique<layers::float16_activation>(p, shape, table_of(g, activation_nodes(l), l.rescaled, s));
    return layers::make_requantize_rescale(
            prepare(layers::requantize_statement(p, shape, *onnx::data_type_of(l.rescaled)),
                    named(s.kernel, g.nodes[l.nodes.front()])),
            shape.batch * shape.spatial * shape.channels, activation_of(g, l, s));
}

} // namespace dynquant::models
