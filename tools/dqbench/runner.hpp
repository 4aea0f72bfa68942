// Runs one case.
#pragma once

#include "outcome.hpp"
#include "test_case.hpp"

namespace dqbench {

/// Runs the case in its mode. Errors of the case are part of the outcome and are not thrown.
outcome run_case(const test_case &c, phase_times &times);

} // namespace dqbench
