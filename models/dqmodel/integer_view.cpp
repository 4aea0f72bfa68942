#include "integer_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "model/rescale.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/text.hpp"

namespace dqmodel {
namespace {

using namespace dynquant::models;
namespace type = dynquant::onnx::type;
using dynquant::onnx::element_type;

const node *producer(const graph &g, const std::string &value) {
    const auto at = std::find_if(g.nodes.begin(), g.nodes.end(),
            [&](const node &n) { return std::count(n.outputs.begin(), n.outputs.end(), value) > 0; });
    return at == g.nodes.end() ? nullptr : &*at;
}

bool is_product(const node *n) {
    return n && (n->op_type == "MatMulInteger" || n->op_type == "ConvInteger");
}

/// The product that computes a value, perhaps through an Add of the bias. Else null.
const node *product_of(const graph &g, const std::string &value) {
    const auto *n = producer(g, value);
    if (!n || n->op_type != "Add") return is_product(n) ? n : nullptr;
    for (const auto &input : n->inputs)
        if (const auto *p = producer(g, input); is_product(p)) return p;
    return nullptr;
}

const tensor *constant(const graph &g, const node &n) {
    for (const auto &input : n.inputs)
        if (const auto at = g.initializers.find(input); at != g.initializers.end()) return &at->second;
    return nullptr;
}

bool is_one(const graph &g, const std::string &scale) {
    const auto at = g.initializers.find(scale);
    return at != g.initializers.end() && at->second.what.type == type::float32
            && values_of<float>(at->second) == std::vector<float> {1};
}

/// An element type given by an attribute, or the default where it is omitted or 0.
element_type type_attribute(const node &n, const char *name, element_type default_value) {
    for (const auto &a : n.attributes)
        if (const auto *value = std::get_if<std::int64_t>(&a.value); value && a.name == name && *value != 0)
            return static_cast<element_type>(*value);
    return default_value;
}

/// Whether QuantizeLinear has scale 1 and zero point 0, so that it only rounds and saturates.
bool is_rounding_only(const graph &g, const node &n, const tensor *zero_point) {
    if (n.inputs.size() < 2 || !is_one(g, n.inputs[1])) return false;
    if (!zero_point) return n.inputs.size() == 2 || n.inputs[2].empty();
    return std::ranges::all_of(zero_point->data, [](std::byte b) { return b == std::byte {0}; });
}

/// Completes a rescaling at the node n that rounds it, with its 8-bit result or the reason why there is none.
void complete(const graph &g, const node &n, layer_rescaling &l) {
    if (n.op_type == "Cast" && type_attribute(n, "to", type::undefined) == type::float16) {
        l.reason = "its rescaled values are rounded to float16, which no right shift does";
        return;
    }
    const auto at = n.inputs.size() > 2 ? g.initializers.find(n.inputs[2]) : g.initializers.end();
    const auto *zero_point = at == g.initializers.end() ? nullptr : &at->second;
    l.type = zero_point ? zero_point->what.type : type_attribute(n, "output_dtype", type::uint8);
    if (n.op_type != "QuantizeLinear" || !is_rounding_only(g, n, zero_point))
        l.reason = "its rescaled values are not rounded by a QuantizeLinear of scale 1 and zero point 0";
    else if (l.type != type::uint8 && l.type != type::int8)
        l.reason = dynquant::concat("its rescaled values are rounded to ", dynquant::onnx::name_of(l.type),
                ", where integers of 8 bits are expected");
    else
        l.result = n.outputs.front();
}

/// The users of each value, by name, each once.
using users = std::map<std::string, std::vector<const node *>>;

users users_in(const graph &g) {
    users result;
    for (const auto &n : g.nodes)
        for (const auto &input : n.inputs)
            if (auto &nodes = result[input]; nodes.empty() || nodes.back() != &n) nodes.push_back(&n);
    return result;
}

/// Follows Mul and Relu from a Cast of the sums to each node that ends a rescaling.
std::vector<layer_rescaling> rescalings_from(
        const graph &g, const users &users_of, const node &cast, const node &product) {
    struct branch {
        layer_rescaling so_far;
        std::string value; // where it has arrived
    };
    std::vector<branch> open {{{label(product), cast.inputs.front()}, cast.outputs.front()}};
    std::vector<layer_rescaling> ended;
    for (std::size_t i = 0; i < open.size(); ++i) {
        const auto [so_far, value] = open[i];
        const auto at = users_of.find(value);
        if (at == users_of.end()) {
            ended.push_back(so_far);
            ended.back().reason = dynquant::concat("nothing rounds its rescaled values, '", value, "'");
            continue;
        }
        for (const auto *n : at->second) {
            auto l = so_far;
            const auto *multiplier = n->op_type == "Mul" ? constant(g, *n) : nullptr;
            if (multiplier && multiplier->what.type == type::float32) l.multipliers.push_back(multiplier);
            l.relu |= n->op_type == "Relu";
            if (l.multipliers.size() > so_far.multipliers.size() || n->op_type == "Relu") {
                open.push_back({std::move(l), n->outputs.front()});
            } else {
                complete(g, *n, l);
                ended.push_back(std::move(l));
            }
        }
    }
    return ended;
}

/// Multiplies exactly.
void multiply(rescale &r, float multiplier) {
    constexpr auto refusal = "its multipliers are no integer of 24 bits and a right shift";
    if (!std::isfinite(multiplier)) throw std::runtime_error(refusal);
    int exponent = 0;
    auto integer = static_cast<std::int64_t>(std::ldexp(std::frexp(multiplier, &exponent), 24));
    int shift = 24 - exponent;
    for (; integer != 0 && integer % 2 == 0 && shift > 0; --shift)
        integer /= 2;
    const bool fits =
            shift >= 0 && (integer == 0 || std::abs(r.quant_scale) <= largest_quant_scale / std::abs(integer));
    if (!fits) throw std::runtime_error(refusal);
    r.quant_scale *= integer;
    r.shift += shift;
}

} // namespace

std::int64_t shift_and_round(std::int32_t sum, std::int64_t integer, int shift) {
    const auto product = sum * integer;
    if (shift >= 62) return 0; // |product| <= 2^55 is less than half of 2^62
    const auto floor = product >> shift, rest = product - (floor << shift), half = (std::int64_t {1} << shift) / 2;
    return floor + (rest > half || (rest == half && half > 0 && floor % 2 != 0) ? 1 : 0);
}

std::vector<layer_rescaling> rescalings_of(const graph &g) {
    const auto users_of = users_in(g);
    std::map<std::string, int> count; // by layer
    std::vector<layer_rescaling> result;
    for (const auto &n : g.nodes) {
        if (n.op_type != "Cast") continue;
        const auto *product = product_of(g, n.inputs.front());
        if (!product) continue;
        for (auto &l : rescalings_from(g, users_of, n, *product)) {
            ++count[l.layer];
            result.push_back(std::move(l));
        }
    }
    for (auto &l : result)
        if (count[l.layer] > 1 && l.reason.empty()) l.layer += dynquant::concat(", '", l.result, "'");
    return result;
}

integer_differences compare_with_integers(const layer_rescaling &l, const dynquant::dims &shape,
        std::span<const std::int32_t> sums, std::span<const std::byte> result) {
    if (sums.size() != result.size()) throw std::runtime_error("its multipliers repeat its sums");
    integer_differences d;
    d.of = static_cast<std::int64_t>(sums.size());
    struct multiplier {
        std::vector<float> values;
        dynquant::dims strides;
    };
    std::vector<multiplier> multipliers;
    multipliers.reserve(l.multipliers.size());
    for (const auto *m : l.multipliers)
        multipliers.push_back({values_of<float>(*m), dynquant::broadcast_strides(m->what.shape, shape)});
    const bool is_unsigned = l.type == type::uint8;
    const std::int64_t lowest = is_unsigned || l.relu ? 0 : -128, highest = is_unsigned ? 255 : 127;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        rescale r {1, 0};
        for (const auto &m : multipliers)
            multiply(r,
                    m.values[static_cast<std::size_t>(
                            dynquant::offset_of(static_cast<std::int64_t>(i), shape, m.strides))]);
        if (l.relu && r.quant_scale < 0) throw std::runtime_error("its multipliers are negative, and there is a Relu");
        const auto given = std::clamp(shift_and_round(sums[i], r.quant_scale, r.shift), lowest, highest);
        const auto bits = std::to_integer<std::uint8_t>(result[i]);
        const std::int64_t expected = is_unsigned ? bits : static_cast<std::int8_t>(bits);
        d.count += given != expected;
        d.largest = std::max(d.largest, std::abs(given - expected));
    }
    return d;
}

} // namespace dqmodel
