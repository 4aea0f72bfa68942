// Random statements with computed scales.
#pragma once

#include "random.hpp"

namespace dynquant::test {

/// Draws a statement that quantizes to `dst` by computed scales, and src.
sample random_computed_statement(random_source &random, data_type dst);

/// The same with groups of consecutive elements in dense tensors: short and long ones, few and many.
sample random_computed_groups(random_source &random, data_type dst);

} // namespace dynquant::test
