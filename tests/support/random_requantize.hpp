// Random statements that requantize.
#pragma once

#include "random.hpp"

namespace dynquant::test {

/// Draws layout, parameters and data: multipliers as networks have them and beyond, sums whose results are ties or ends
/// of the range, sums that wrap.
sample random_requantization(random_source &random);

} // namespace dynquant::test
