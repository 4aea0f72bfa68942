// Numbers that random programs draw, and how their tensors lie.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "chain.hpp"

namespace dynquant::test {

/// Numbers of one seed.
class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed)
        : engine_(seed) {}
    std::int64_t within(std::int64_t lowest, std::int64_t highest) {
        return lowest + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(highest - lowest + 1));
    }
    bool chance(int percent) { return within(1, 100) <= percent; }
    float scale() { return std::ldexp(static_cast<float>(within(1, 255)), static_cast<int>(within(-14, -4))); }

  private:
    std::mt19937_64 engine_;
};

/// A tensor with strides, of what is row-major.
template <typename T>
bytes laid_out(const std::vector<T> &values, const dims &extents, const dims &strides) {
    std::int64_t last = 0;
    for (std::size_t d = 0; d < extents.size(); ++d)
        last += std::max<std::int64_t>(extents[d] - 1, 0) * strides[d];
    std::vector<T> result(values.empty() ? 0 : static_cast<std::size_t>(last + 1), T(77));
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t at = 0;
        for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d])
            at += rest % extents[d] * strides[d];
        result[static_cast<std::size_t>(at)] = values[i];
    }
    return bytes_of(result);
}

} // namespace dynquant::test
