// The data types that a rule of computed scales takes.
#pragma once

#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant {

std::vector<data_type> dst_types_of(const scale_rule &rule);

/// None for a rule that contradicts itself. A global scale needs f8_e4m3 among them.
std::vector<data_type> scale_types_of(const scale_rule &rule);

/// Whether the rule computes codes of type `dst` by scales of type `scales`.
bool fits(const scale_rule &rule, data_type dst, data_type scales);

} // namespace dynquant
