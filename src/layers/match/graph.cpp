#include "layers/match/graph.hpp"

#include <algorithm>

#include "quantization/text.hpp"

namespace dynquant::layers::match {
namespace {

struct name_row {
    op what;
    const char *name;
};

constexpr name_row names[] = {
#define DYNQUANT_OPERATOR(enumerator, name) {op::enumerator, name},
#include "layers/match/operators.inc"
#undef DYNQUANT_OPERATOR
};

} // namespace

op operator_named(std::string_view onnx_name) {
    const auto *const found = std::ranges::find(names, onnx_name, &name_row::name);
    return found == std::end(names) ? op::other : found->what;
}

const char *name_of(op what) {
    const auto *const found = std::ranges::find(names, what, &name_row::what);
    return found == std::end(names) ? "another" : found->name;
}

std::string label(const graph &g, const node &n) {
    if (!n.name.empty()) return concat("node '", n.name, "' (", n.op_type, ")");
    for (const auto output : n.outputs)
        if (output != none) return concat("node of '", g.values[output].name, "' (", n.op_type, ")");
    return concat("node (", n.op_type, ")");
}

const char *why_unknown(const value &v) {
    return v.is_replaced ? "replaced by add_initializer" : "no constant";
}

std::string name_of(std::optional<data_type> type) {
    return type ? to_string(*type) : "another";
}

std::optional<float> one_float(const value &v) {
    if (!v.known || v.known->type != data_type::f32 || volume(v.known->shape) != 1 || v.known->shape.size() > 1)
        return std::nullopt;
    return values_of<float>(*v.known).front();
}

} // namespace dynquant::layers::match
