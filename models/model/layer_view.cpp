#include "model/layer_view.hpp"

#include <type_traits>

namespace dynquant::models {
namespace {

using layers::match::none;

layers::match::value value_of(const std::string &name, const tensor_type &what, const tensor *constant) {
    layers::match::value v;
    v.name = name;
    v.type = onnx::data_type_of(what.type);
    v.shape = what.shape;
    if (constant) v.known = layers::match::constant {v.type, what.shape, constant->data.data()};
    return v;
}

/// Without inputs and outputs.
layers::match::node node_of(const node &n, std::int64_t opset) {
    layers::match::node result;
    result.name = n.name;
    result.op_type = n.op_type;
    result.domain = n.domain;
    if (n.domain.empty()) result.what = layers::match::operator_named(n.op_type);
    result.opset = static_cast<int>(opset);
    for (const auto &a : n.attributes)
        std::visit(
                [&](const auto &value) {
                    if constexpr (std::is_constructible_v<layers::match::attribute, decltype(value)>)
                        result.attributes.emplace(a.name, value);
                },
                a.value);
    return result;
}

} // namespace

layers::match::graph view_of(const graph &g) {
    layers::match::graph view;
    std::map<std::string, std::size_t> indices; // of values
    for (const auto &[name, what] : g.value_types) {
        const auto found = g.initializers.find(name);
        indices.emplace(name, view.values.size());
        view.values.push_back(value_of(name, what, found == g.initializers.end() ? nullptr : &found->second));
    }
    for (const auto &output : g.outputs)
        view.values[indices.at(output.name)].is_seen_outside = true;
    for (const auto &n : g.nodes) {
        auto to = node_of(n, g.opsets.at(""));
        for (const auto &name : n.inputs) {
            to.inputs.push_back(name.empty() ? none : indices.at(name));
            if (!name.empty()) view.values[to.inputs.back()].consumers.push_back(view.nodes.size());
        }
        to.outputs = {indices.at(n.outputs.front())}; // an operator has one
        view.values[to.outputs.front()].producer = view.nodes.size();
        view.nodes.push_back(std::move(to));
    }
    return view;
}

layers::match::graph view_of(const op_node &n) {
    layers::match::graph view;
    auto to = node_of(n.given, n.opset);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        to.inputs.push_back(n.has(i) ? view.values.size() : none);
        if (n.has(i)) view.values.push_back(value_of(n.given.inputs[i], n.at(i), n.constants[i]));
    }
    to.outputs = {view.values.size()};
    view.values.emplace_back().name = n.given.outputs.front();
    view.nodes.push_back(std::move(to));
    return view;
}

} // namespace dynquant::models
