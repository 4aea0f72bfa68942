#include "model/layer_notes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "model/rescale.hpp"
#include "model/sum_bounds.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {
namespace {

bool is_positive(float value) {
    return value > 0 && !std::isinf(value);
}

bool is_quant_scale(float value) {
    return value == std::nearbyint(value) && value <= static_cast<float>(largest_quant_scale);
}

bool is_right_shift(float value) {
    int exponent = 0;
    return value <= 1 && std::frexp(value, &exponent) == 0.5F;
}

} // namespace

std::string text_of(float value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string warning_of(const layers::layer_description &d, std::span<const std::byte> weights) {
    constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
    const auto bounds = bounds_of_sums(d, weights);
    if (bounds.of_any_weights <= largest) return {};
    if (bounds.of_these_weights <= largest)
        return concat("sums by any weights may reach ", bounds.of_any_weights, ", beyond ", largest,
                "; by these weights they stay within ", bounds.of_these_weights);
    return concat("sums may reach ", bounds.of_these_weights, ", beyond ", largest, ", where they wrap");
}

std::string note_of(
        const layers::match::graph &g, std::span<const std::size_t> multipliers, const model_rescale &rescale) {
    const bool is_of_two = !rescale.shifts.empty();
    const auto unfit = [&](std::size_t i, const char *what, const char *expected, bool (*fits)(float)) -> std::string {
        const auto &values = i == 0 ? rescale.multipliers : rescale.shifts;
        const auto found = std::ranges::find_if_not(values, fits);
        if (found == values.end()) return {};
        return concat(is_of_two && !rescale.folded ? "not folded: " : "", what, " '", g.values[multipliers[i]].name,
                "': expected ", expected, ", given ", text_of(*found));
    };
    auto note = unfit(0, "Mul", "positive multipliers", is_positive);
    if (note.empty()) note = unfit(1, "Mul", "positive multipliers", is_positive);
    if (note.empty()) note = unfit(1, "Quant_shift", "powers of two of at most 1", is_right_shift);
    if (note.empty() && is_of_two) note = unfit(0, "Quant_scale", "integers of at most 2^24", is_quant_scale);
    return note;
}

} // namespace dynquant::models
