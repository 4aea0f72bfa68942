// The driver of tiles, by bytes and by floats: which rows of x have their sums in registers together.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dynquant::layers {
namespace {

/// Calls f(rows, first row), where rows is a constant, the first of `sizes` that is not more than what is left. The
/// sizes descend to 1.
template <int... sizes, typename F>
[[gnu::always_inline]] inline void for_each_row_tile(std::int64_t rows, const F &f) {
    std::int64_t row = 0;
    while (row < rows) {
        const auto take = [&](auto size) __attribute__((always_inline)) {
            if (rows - row < size) return false;
            f(size, row);
            row += size;
            return true;
        };
        (void)(take(std::integral_constant<int, sizes>()) || ...);
    }
}

} // namespace
} // namespace dynquant::layers
