// A function from bytes to bytes as a table of all its values: what an activation between 8-bit integers is.
#pragma once

#include <array>
#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant::lookup {

/// Element x is the value of x; of signed bytes x is the bits.
using table = std::array<std::uint8_t, 256>;

/// dst[i] = values[src[i]]. dst is src, or does not overlap it.
using look_up_function = void (*)(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count);

extern const look_up_function scalar_look_up;
#if defined(__x86_64__)
extern const look_up_function avx2_look_up, avx512_look_up, avx512_vbmi_look_up;
#endif

/// Beyond isa::avx512: permutations of bytes.
bool processor_has_vbmi();

/// The fastest that `most` and this processor allow.
look_up_function function_for(isa most);

/// The same on several threads. threads: 0 is the concurrency of the caller's arena.
void look_up(look_up_function function, const table &values, const std::uint8_t *src, std::uint8_t *dst,
        std::int64_t count, int threads);

} // namespace dynquant::lookup
