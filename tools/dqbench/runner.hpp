// Runs one case.
#pragma once

#include "outcome.hpp"
#include "test_case.hpp"

namespace dqbench {

/// Never throws for what a case may do.
outcome run_case(const test_case &c, phase_times &times);

} // namespace dqbench
