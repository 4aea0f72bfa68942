#include "model/layer_notes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "layers/rescale.hpp"
#include "model/sum_bounds.hpp"

namespace dynquant::models {
namespace {

/// The shortest decimal that reads back as the same float.
std::string text_of(float value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

bool is_quant_scale(float value) {
    return value == std::nearbyint(value) && value <= static_cast<float>(layers::largest_quant_scale);
}

bool is_right_shift(float value) {
    int exponent = 0;
    return value <= 1 && std::frexp(value, &exponent) == 0.5F;
}

/// The constants by which the layer's nodes multiply.
std::vector<std::string> multipliers_of(const graph &g, const layer &l) {
    std::vector<std::string> names;
    for (const auto index : l.nodes)
        if (const auto &n = g.nodes[index]; n.op_type == "Mul")
            names.push_back(n.inputs[g.initializers.contains(n.inputs[0]) ? 0 : 1]);
    return names;
}

} // namespace

std::string warning_of(const op_node &product, const tensor *bias) {
    constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
    const auto bounds = bounds_of_sums(product, bias);
    if (bounds.of_any_weights <= largest) return {};
    if (bounds.of_these_weights <= largest)
        return concat("sums by any weights may reach ", bounds.of_any_weights, ", beyond ", largest,
                "; by these weights they stay within ", bounds.of_these_weights);
    return concat("sums may reach ", bounds.of_these_weights, ", beyond ", largest, ", where they wrap");
}

std::string note_of(const graph &g, const layer &l, const model_rescale &rescale) {
    if (rescale.shifts.empty()) return {};
    const auto names = multipliers_of(g, l);
    const auto about = [&](const char *what, const std::string &name, const char *expected, float given) {
        return concat(rescale.folded ? "" : "not folded: ", what, " '", name, "': expected ", expected, ", given ",
                text_of(given));
    };
    if (const auto shift = std::ranges::find_if_not(rescale.shifts, is_right_shift); shift != rescale.shifts.end())
        return about("Quant_shift", names.back(), "powers of two of at most 1", *shift);
    if (const auto scale = std::ranges::find_if_not(rescale.multipliers, is_quant_scale);
            scale != rescale.multipliers.end())
        return about("Quant_scale", names.front(), "integers of at most 2^24", *scale);
    return {};
}

} // namespace dynquant::models
