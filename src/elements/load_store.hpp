// Loads and stores of single elements of any type, as doubles, which hold each value exactly.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant {

double load(data_type type, const void *buffer, std::int64_t index);

/// For an integral type, `value` must be one of its values. Otherwise `value` is rounded to f32 and then to the type,
/// with saturation if `saturate`. The other elements of the same byte are kept.
void store(data_type type, void *buffer, std::int64_t index, double value, bool saturate = false);

} // namespace dynquant
