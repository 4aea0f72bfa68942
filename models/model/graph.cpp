#include "model/graph.hpp"

#include <algorithm>
#include <functional>

#include "elements/table.hpp"
#include "model/refusal.hpp"
#include "onnx/element_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// "node 'fc1'", or "node of 'y'" for a node without a name.
std::string place(const node &n) {
    if (!n.name.empty()) return concat("node '", n.name, "'");
    return concat("node of '", n.outputs.empty() ? "" : n.outputs.front(), "'");
}

/// "Relu", "com.microsoft.FusedConv"
std::string operator_of(const node &n) {
    return n.domain.empty() ? n.op_type : concat(n.domain, ".", n.op_type);
}

} // namespace

attribute_type attribute::type() const {
    using enum attribute_type;
    constexpr attribute_type types[] = {integer, real, text, attribute_type::tensor, integers, reals}; // of `value`
    const auto *unknown = std::get_if<other>(&value);
    return unknown ? unknown->type : types[value.index()];
}

std::string label(const node &n) {
    return concat(place(n), " (", operator_of(n), ")");
}

std::string text_of(const std::optional<dims> &shape) {
    if (!shape) return "of any rank";
    std::string text = "[";
    for (const auto extent : *shape)
        text += concat(text.size() > 1 ? ", " : "", extent == free_extent ? "?" : std::to_string(extent));
    return text + "]";
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
    // Beyond any memory, while sums of such sizes do not overflow. The extents of empty tensors, with 1 for 0, must
    // obey the limit, as they are multiplied elsewhere.
    constexpr auto max_elements = std::int64_t {1} << 44;
    const auto bits = bits_in(what.type);
    auto extents = what.shape;
    std::ranges::replace(extents, 0, 1);
    if (!bits || volume(extents).value_or(max_elements) >= max_elements) return std::nullopt;
    const auto elements = *volume(what.shape);
    return dynquant::size_in_bytes(*bits, elements);
}

void check_operators(const graph &g, const std::vector<std::string> &known) {
    struct use {
        const node *first;
        int others = 0;
    };
    std::map<std::string, use> unknown; // by operator
    for (const auto &n : g.nodes) {
        if (n.domain.empty() && std::ranges::count(known, n.op_type) > 0) continue;
        const auto [at, is_new] = unknown.try_emplace(operator_of(n), use {&n});
        if (!is_new) ++at->second.others;
    }
    if (unknown.empty()) return;
    std::string given;
    for (const auto &[op, use] : unknown) {
        given += concat(given.empty() ? "" : ", ", op, use.first->domain.empty() ? suggest(op, known) : "", " of ",
                place(*use.first));
        if (use.others > 0) given += concat(" and ", counted(static_cast<std::size_t>(use.others), "other"));
    }
    refuse(status::unimplemented, "operators: expected ", alternatives(known, std::identity {}), ", given ", given);
}

} // namespace dynquant::models
