// Folds the two multipliers of requantize into one.
#include <algorithm>

#include "quantization/one_multiplier.hpp"

#include "kernels/native/implementation.hpp"

namespace dynquant::kernels::native {
namespace {

float as_float(double value) {
    return static_cast<float>(value);
}

} // namespace

std::optional<quantization> folded(const quantization &q) {
    if (q.dir != direction::requantize || !q.second_scales || q.second_scales->values.empty()
            || q.scales.values.empty())
        return std::nullopt;
    const auto all = [](const std::vector<double> &values, auto holds) {
        return std::all_of(values.begin(), values.end(), [=](double value) { return holds(as_float(value)); });
    };
    if (!all(q.scales.values, is_multiplier) || !all(q.second_scales->values, is_shift)) return std::nullopt;
    auto result = q;
    const auto product = [](double scale, double second) { return double {as_float(scale) * as_float(second)}; };
    std::transform(q.scales.values.begin(), q.scales.values.end(), q.second_scales->values.begin(),
            result.scales.values.begin(), product);
    result.second_scales.reset();
    return result;
}

} // namespace dynquant::kernels::native
