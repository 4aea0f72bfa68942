#include "model/layer_view.hpp"

#include <type_traits>

namespace dynquant::models {
namespace {

using layers::match::none;

/// Attributes of other types change no layer.
std::map<std::string, layers::match::attribute> attributes_of(const node &n) {
    std::map<std::string, layers::match::attribute> result;
    for (const auto &a : n.attributes)
        std::visit(
                [&](const auto &value) {
                    if constexpr (std::is_constructible_v<layers::match::attribute, decltype(value)>)
                        result.emplace(a.name, value);
                },
                a.value);
    return result;
}

} // namespace

layers::match::graph view_of(const graph &g) {
    layers::match::graph view;
    std::map<std::string, std::size_t> indices; // of values
    for (const auto &[name, what] : g.value_types) {
        indices.emplace(name, view.values.size());
        auto &v = view.values.emplace_back();
        v.name = name;
        v.type = what.type;
        v.shape = what.shape;
        if (const auto found = g.initializers.find(name); found != g.initializers.end())
            v.known = layers::match::constant {what.type, what.shape, found->second.data.data()};
    }
    for (const auto &output : g.outputs)
        view.values[indices.at(output.name)].is_seen_outside = true;
    for (const auto &n : g.nodes) {
        const auto at = view.nodes.size();
        auto &to = view.nodes.emplace_back();
        to.name = n.name;
        to.op_type = n.op_type;
        to.domain = n.domain;
        to.opset = static_cast<int>(g.opsets.at(""));
        to.attributes = attributes_of(n);
        for (const auto &name : n.inputs) {
            to.inputs.push_back(name.empty() ? none : indices.at(name));
            if (!name.empty()) view.values[to.inputs.back()].consumers.push_back(at);
        }
        to.outputs = {indices.at(n.outputs.front())}; // an operator has one
        view.values[to.outputs.front()].producer = at;
    }
    return view;
}

} // namespace dynquant::models
