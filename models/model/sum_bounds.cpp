#include "model/sum_bounds.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// The largest magnitude of x - zero point.
std::int64_t largest_difference(bool is_signed, std::int64_t zero_point) {
    const std::int64_t lowest = is_signed ? -128 : 0, highest = is_signed ? 127 : 255;
    return std::max(highest - zero_point, zero_point - lowest);
}

/// Weights in memory order: the rows of a matrix, or filter by filter.
struct weights_view {
    std::span<const std::int8_t> values;
    std::int64_t products; // per sum
    std::size_t channels;
    bool is_convolution;

    std::size_t channel_of(std::size_t i) const {
        return is_convolution ? i / static_cast<std::size_t>(products) : i % channels;
    }
    /// The index of the weight's matrix, where there are several.
    std::size_t matrix_of(std::size_t i) const {
        return is_convolution ? 0 : i / (static_cast<std::size_t>(products) * channels);
    }
};

std::int64_t zero_point_at(const std::vector<std::int32_t> &zero_points, std::size_t channel) {
    return zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : channel];
}

/// The maximum over all channels: x times the sum of the weights' magnitudes, plus the magnitude of the bias.
std::int64_t bound_of_these(const weights_view &w, const std::vector<std::int32_t> &zero_points, std::int64_t x,
        const std::vector<std::int32_t> &bias) {
    std::int64_t most = 0;
    std::vector<std::int64_t> sums(w.channels);
    const auto finish_matrix = [&] {
        for (std::size_t c = 0; c < w.channels; ++c)
            most = std::max(most, sums[c] * x + std::abs(zero_point_at(bias, c)));
        std::ranges::fill(sums, 0);
    };
    for (std::size_t i = 0; i < w.values.size(); ++i) {
        if (i > 0 && w.matrix_of(i) != w.matrix_of(i - 1)) finish_matrix();
        const auto channel = w.channel_of(i);
        const auto of_matrix = zero_points.size() > w.channels ? w.matrix_of(i) * w.channels : 0;
        sums[channel] += std::abs(w.values[i] - zero_point_at(zero_points, of_matrix + channel));
    }
    finish_matrix();
    return most;
}

} // namespace

sum_bounds bounds_of_sums(const layers::layer_description &d, std::span<const std::byte> weights) {
    std::int64_t most = 128, most_bias = 0;
    for (const auto zero_point : d.w_zero_points)
        most = std::max(most, largest_difference(true, zero_point));
    for (const auto b : d.bias)
        most_bias = std::max(most_bias, std::abs(std::int64_t {b}));
    const auto &shape = d.weights_shape;
    const auto channels = d.is_convolution ? shape.front() : shape.back();
    const auto products = d.is_convolution ? *volume(dims(shape.begin() + 1, shape.end())) : shape.front();
    const auto x = largest_difference(d.x_is_signed, *d.x_zero_point), any = products * x * most + most_bias;
    if (any <= std::numeric_limits<std::int32_t>::max()) return {any, any}; // no need to scan the weights
    const std::span values(reinterpret_cast<const std::int8_t *>(weights.data()), weights.size());
    return {any,
            bound_of_these({values, products, static_cast<std::size_t>(channels), d.is_convolution}, d.w_zero_points, x,
                    d.bias)};
}

} // namespace dynquant::models
