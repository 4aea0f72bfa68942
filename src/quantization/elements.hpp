// Single elements of buffers of any type, as doubles, which hold each of them exactly.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant {

double load(data_type type, const void *buffer, std::int64_t index);

/// `value` is of the type if that is integral; else it is rounded to f32, and from there to the type, where it may
/// saturate. An element narrower than a byte leaves the others of its byte as they are.
void store(data_type type, void *buffer, std::int64_t index, double value, bool saturate = false);

} // namespace dynquant
