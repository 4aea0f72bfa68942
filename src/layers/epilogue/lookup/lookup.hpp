// src/layers/epilogue/lookup: a function from bytes to bytes as a table of its 256 values, for activations of 8-bit
// integers. May include what epilogue/ may. isa/ has one source per instruction set; its look_up_by.hpp has the
// loop, by_shuffles.hpp the table look-up for instruction sets without byte permutations. Start here.
#pragma once

#include <array>
#include <cstdint>

#include "targets/features.hpp"

namespace dynquant::lookup {

/// Element x is the function's value at x. A signed byte is indexed by its bits.
using table = std::array<std::uint8_t, 256>;

/// dst[i] = values[src[i]]. dst equals src, or does not overlap it. Thread-safe.
using look_up_function = void (*)(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count);

extern const targets::candidate<const look_up_function *> look_up_table[];

look_up_function function_for(targets::features available);

/// Calls `function` on several threads. threads: 0 is the concurrency of the caller's arena.
void look_up(look_up_function function, const table &values, const std::uint8_t *src, std::uint8_t *dst,
        std::int64_t count, int threads);

} // namespace dynquant::lookup
