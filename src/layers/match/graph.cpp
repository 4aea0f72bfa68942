#include "layers/match/graph.hpp"

#include <cstring>

#include "onnx/element_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {

std::string label(const graph &g, const node &n) {
    if (!n.name.empty()) return concat("node '", n.name, "' (", n.op_type, ")");
    for (const auto output : n.outputs)
        if (output != none) return concat("node of '", g.values[output].name, "' (", n.op_type, ")");
    return concat("node (", n.op_type, ")");
}

std::vector<std::int32_t> integers_of(const constant &c) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(*volume(c.shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        if (c.type == onnx::type::int32)
            std::memcpy(&values[i], c.data + i * sizeof values[i], sizeof values[i]);
        else
            values[i] = c.type == onnx::type::int8 ? static_cast<std::int8_t>(c.data[i])
                                                   : std::to_integer<std::int32_t>(c.data[i]);
    return values;
}

const char *why_unknown(const value &v) {
    return v.is_replaced ? "replaced by add_initializer" : "no constant";
}

} // namespace dynquant::layers::match
