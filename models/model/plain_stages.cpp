#include "model/plain_stages.hpp"

#include "model/op_node.hpp"

namespace dynquant::models {

model_port port_of(const graph &g, const std::string &value) {
    const auto &type = g.value_types.at(value);
    return {value, type.type, type.shape};
}

placed_stage plain_stage(const graph &g, const node &n, const options &opts) {
    const auto checked = check(g, n);
    auto prepared = checked.schema.prepare(checked, opts);
    placed_stage result;
    result.work = std::move(prepared.work);
    result.output = n.outputs.front();
    result.description = {n.name.empty() ? n.outputs.front() : n.name, n.op_type, {label(n)}, {}, {},
            {port_of(g, n.outputs.front())}};
    for (std::size_t input = 0; input < prepared.inputs; ++input) {
        result.inputs.push_back(n.inputs[input]);
        if (!checked.constants[input]) result.description.inputs.push_back(port_of(g, n.inputs[input]));
    }
    return result;
}

std::vector<placed_stage> plain_stages(const graph &g, const options &opts) {
    std::vector<placed_stage> stages;
    stages.reserve(g.nodes.size());
    for (const auto &n : g.nodes)
        stages.push_back(plain_stage(g, n, opts));
    return stages;
}

} // namespace dynquant::models
