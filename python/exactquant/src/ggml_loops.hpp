// What the loops over ggml's blocks share.
#pragma once

#include <cstdint>
#include <cstring>

#include "elements/small_float.hpp"

// A copy of a function for each set of instructions, of which the loader takes the best. Rounding is the same: no copy
// contracts products and sums.
#if defined(__x86_64__) && !defined(__clang__)
#define EXACTQUANT_LOOPS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), gnu::flatten]]
#else
#define EXACTQUANT_LOOPS [[gnu::flatten]]
#endif

namespace exactquant::ggml {

[[gnu::always_inline]] inline float load_half(const std::uint8_t *from) {
    dynquant::float16 value;
    std::memcpy(&value.bits, from, sizeof value.bits);
    return value.value();
}

} // namespace exactquant::ggml
