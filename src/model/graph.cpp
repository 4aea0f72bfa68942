#include "model/graph.hpp"

#include <algorithm>

#include "model/refusal.hpp"
#include "onnx/element_type.hpp"
#include "quantization/data_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {

std::string label(const node &n) {
    const auto op = concat(" (", n.domain.empty() ? "" : n.domain + ".", n.op_type, ")");
    if (!n.name.empty()) return concat("node '", n.name, "'", op);
    return concat("node of '", n.outputs.empty() ? "" : n.outputs.front(), "'", op);
}

std::optional<int> bits_in(onnx::element_type type) {
    switch (type) {
        case onnx::type::boolean: return 8;
        case onnx::type::int64:
        case onnx::type::uint64:
        case onnx::type::float64: return 64;
        default: break;
    }
    const auto known = onnx::data_type_of(type);
    return known ? std::optional(traits(*known).bits) : std::nullopt;
}

std::optional<std::int64_t> size_in_bytes(const tensor_type &what) {
    // More than any machine has, and sums of them are no overflow. Empty tensors too must have extents that can be
    // multiplied.
    constexpr auto most_elements = std::int64_t {1} << 44;
    const auto bits = bits_in(what.type);
    auto extents = what.shape;
    std::ranges::replace(extents, 0, 1);
    if (!bits || volume(extents).value_or(most_elements) >= most_elements) return std::nullopt;
    const auto elements = *volume(what.shape);
    return *bits < 8 ? elements / 8 * *bits + (elements % 8 * *bits + 7) / 8 : elements * (*bits / 8);
}

} // namespace dynquant::models
