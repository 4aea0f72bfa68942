// Numbers that random programs draw, and how their tensors lie.
#pragma once

#include <algorithm>
#include <cmath>

#include "chain.hpp"
#include "support/number_source.hpp"

namespace dynquant::test {

/// A scale of eight significant bits.
inline float random_scale(number_source &n) {
    const auto digits = n.within(1, 255);
    return std::ldexp(static_cast<float>(digits), static_cast<int>(n.within(-14, -4)));
}

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
