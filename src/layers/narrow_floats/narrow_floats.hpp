// src/layers/narrow_floats: floats of 16 bits that a layer reads or gives as f32, and back. isa/ has the loops. May
// include: dynquant/quantization.hpp, elements, parallel, quantization, targets. Start here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynquant/quantization.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// Dense elements, on one thread. `to` and `from` share no memory.
struct narrow_float_loops {
    using widen_function = void (*)(const std::byte *from, std::int64_t count, float *to);
    using narrow_function = void (*)(const float *from, std::int64_t count, std::byte *to);
    widen_function widen_f16, widen_bf16;
    narrow_function narrow_f16, narrow_bf16; // rounded to nearest even; what is too large becomes infinite
};
extern const targets::candidate<const narrow_float_loops *> narrow_floats_table[];

/// These run the loops on several threads. type: f16 or bf16.
void widen_floats(data_type type, const std::byte *from, std::int64_t count, float *to, targets::features available);
void narrow_floats(data_type type, const float *from, std::int64_t count, std::byte *to, targets::features available);

} // namespace dynquant::layers
