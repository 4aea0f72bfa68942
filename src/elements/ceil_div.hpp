// Division that rounds up. Inlined everywhere, so that files for one instruction set may use it.
#pragma once

#include <cstdint>

namespace dynquant {

/// How many parts of `size`, at least 1, hold `count`, at least 0. Both may come from a file and be close to 2^63.
[[gnu::always_inline]] constexpr std::int64_t ceil_div(std::int64_t count, std::int64_t size) {
    return count / size + (count % size != 0 ? 1 : 0);
}

/// `count` and what is missing to whole parts of `size`.
[[gnu::always_inline]] constexpr std::int64_t round_up(std::int64_t count, std::int64_t size) {
    return ceil_div(count, size) * size;
}

} // namespace dynquant
