#include "graph/check.hpp"

#include <algorithm>

#include "graph/attributes.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/lowering.hpp"
#include "graph/refusal.hpp"
#include "graph/scale_rule.hpp"

namespace dynquant::graph::core {
namespace {

void check_count(const op_record &op, const char *list, std::span<const port_schema> expected, size_t given) {
    const auto most = expected.size();
    const auto least = static_cast<size_t>(std::ranges::count(expected, true, &port_schema::required));
    if (given >= least && given <= most) return;
    std::string names;
    for (const auto &port : expected)
        names += concat(names.empty() ? "" : ", ", port.required ? "" : "optionally ", port.name);
    refuse(op, dnnl_invalid_graph_op, list, ": expected ", least == most ? concat(most) : concat(least, " or ", most),
            " (", names, "), given ", given);
}

// Checks sizes, overlap and all else that needs a statement, once the dims are known.
std::optional<quantization> check_statement(
        const op_record &op, numerics rule, const std::optional<scale_rule> &computed) {
    const auto &src = op.inputs[input::src];
    if (!dims_known(with_dims_from(src, op.outputs.front()))) return std::nullopt;
    auto q = lower(op, rule, computed);
    if (const auto wrong = dynquant::check(q)) refuse(op, onednn_status(wrong->status), wrong->message);
    return q;
}

} // namespace

std::optional<quantization> check(const op_record &op, stage when, numerics rule) {
    const auto &schema = *find_schema(op);
    check_count(op, "inputs", schema.inputs, op.inputs.size());
    check_count(op, "outputs", schema.outputs, op.outputs.size());
    check_attributes(op, schema);
    std::optional<scale_rule> computed;
    if (computes_scales(op)) {
        computed = scale_rule_of(op);
        check_computed(op, when, *computed);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i)
        check_port(op, schema.inputs[i], op.inputs[i], false, when);
    for (size_t i = 0; i < op.outputs.size(); ++i)
        check_port(op, schema.outputs[i], op.outputs[i], true, when);
    check_shapes(op);
    return check_statement(op, rule, computed);
}

} // namespace dynquant::graph::core
