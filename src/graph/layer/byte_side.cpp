#include "graph/layer/byte_side.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

std::vector<std::int64_t> parameter_indices(
        const quantization &q, const std::vector<size_t> &walked, const std::vector<size_t> &blocked) {
    const auto &extents = q.src.dims;
    const auto strides = row_major(parameter_dims(extents, q.scales.block));
    // Without rows there may be any number of matrices.
    if (std::ranges::any_of(walked, [&](size_t d) { return extents[d] == 0; })) return {};
    std::vector<std::int64_t> result {0};
    for (const auto d : walked) {
        std::vector<std::int64_t> repeated;
        for (const auto before : result)
            for (std::int64_t i = 0; i < extents[d]; i += std::ranges::count(blocked, d) != 0 ? q.scales.block[d] : 1)
                repeated.push_back(before + i / q.scales.block[d] * strides[d]);
        result = std::move(repeated);
    }
    return result;
}

} // namespace

side_parameters::side_parameters(
        const quantization &q, const std::vector<size_t> &walked, const std::vector<size_t> &blocked)
    : are_one(std::ranges::all_of(parameter_dims(q.src.dims, q.scales.block), [](auto n) { return n <= 1; }))
    , indices(are_one ? std::vector<std::int64_t> {0} : parameter_indices(q, walked, blocked))
    , has_zero_points(q.zero_points.has_value()) {
    are_in_order = true;
    for (size_t i = 0; i < indices.size(); ++i)
        are_in_order &= indices[i] == static_cast<std::int64_t>(i);
    for (const auto index : indices) {
        if (!q.scales.values.empty())
            scales.push_back(static_cast<float>(q.scales.values.at(static_cast<size_t>(index))));
        if (has_zero_points && !q.zero_points->values.empty())
            zero_points.push_back(static_cast<std::int32_t>(q.zero_points->values.at(static_cast<size_t>(index))));
    }
}

std::int64_t largest_difference(bool is_signed, std::span<const std::int32_t> zero_points) {
    const std::int64_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    std::int64_t most = zero_points.empty() ? std::max(-low, high) : 0;
    for (const std::int64_t zp : zero_points)
        most = std::max({most, std::abs(low - zp), std::abs(high - zp)});
    return most;
}

bool fits_s32(std::int64_t inner, std::int64_t largest_x, std::int64_t largest_w) {
    std::int64_t most = 0;
    return !__builtin_mul_overflow(largest_w * inner, largest_x, &most)
            && most <= std::numeric_limits<std::int32_t>::max();
}

} // namespace dynquant::graph::core
