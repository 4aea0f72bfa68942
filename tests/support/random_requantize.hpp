// Random statements that requantize.
#pragma once

#include "random.hpp"

namespace dynquant::test {

/// Layout, parameters and data are drawn: multipliers as networks have them and beyond, sums whose results lie at ties
/// and at the ends of the range, sums that wrap.
sample random_requantization(random_source &random);

} // namespace dynquant::test
