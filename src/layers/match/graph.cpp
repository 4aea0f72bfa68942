#include "layers/match/graph.hpp"

#include "quantization/text.hpp"

namespace dynquant::layers::match {

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

} // namespace dynquant::layers::match
