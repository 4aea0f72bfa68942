#include "model/permute.hpp"

#include <numeric>

#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// 0, 2, 3, 1 for rank 4.
std::vector<std::size_t> channels_last_order(std::size_t rank) {
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + 1);
    order.push_back(1);
    return order;
}

} // namespace

permutation::permutation(const dims &shape, const std::vector<std::size_t> &order, std::size_t element_bytes)
    : element_bytes_(element_bytes) {
    const auto strides = row_major(shape);
    for (const auto d : order) {
        if (shape[d] == 1) continue;
        if (!shape_.empty() && strides_.back() == strides[d] * shape[d]) { // goes on where the one before steps
            shape_.back() *= shape[d];
            strides_.back() = strides[d];
        } else {
            shape_.push_back(shape[d]);
            strides_.push_back(strides[d]);
        }
    }
    if (shape_.empty()) shape_ = strides_ = {1};
}

template <typename Element>
void permutation::run_typed(const Element *x, Element *y) const {
    const auto length = shape_.back(), step = strides_.back();
    const auto row = [&](std::int64_t index) {
        const auto *from = x;
        for (auto d = shape_.size() - 1; d-- > 0; index /= shape_[d])
            from += index % shape_[d] * strides_[d];
        return from;
    };
    const auto rows = volume(shape_).value() / length;
    const auto parts = std::clamp<std::int64_t>(
            rows * length / parallel::elements_per_part(), 1, std::min<std::int64_t>(rows, parallel::concurrency()));
    parallel::for_each_part(rows, static_cast<int>(parts), [&](parallel::range part) {
        for (auto r = part.begin; r < part.end; ++r) {
            const auto *from = row(r);
            for (std::int64_t i = 0; i < length; ++i)
                y[r * length + i] = from[i * step];
        }
    });
}

void permutation::run(const void *x, void *y) const {
    if (volume(shape_) == 0) return;
    switch (element_bytes_) {
        case 1: return run_typed(static_cast<const std::uint8_t *>(x), static_cast<std::uint8_t *>(y));
        case 2: return run_typed(static_cast<const std::uint16_t *>(x), static_cast<std::uint16_t *>(y));
        default: return run_typed(static_cast<const std::uint32_t *>(x), static_cast<std::uint32_t *>(y));
    }
}

permutation to_channels_last(const dims &shape, std::size_t element_bytes) {
    return {shape, channels_last_order(shape.size()), element_bytes};
}

permutation from_channels_last(const dims &shape, std::size_t element_bytes) {
    // Of the shape as it lies there: its last dimension becomes the second again.
    dims lying;
    for (const auto d : channels_last_order(shape.size()))
        lying.push_back(shape[d]);
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    order.pop_back();
    order.insert(order.begin() + 1, shape.size() - 1);
    return {lying, order, element_bytes};
}

} // namespace dynquant::models
