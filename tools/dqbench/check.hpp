// Correctness mode.
#pragma once

#include "compiled_case.hpp"
#include "outcome.hpp"

namespace dqbench {

/// Runs the case on hard data and says passed, mistrusted or failed. What a peer makes of the same
/// inputs becomes a note.
outcome check(compiled_case &c, phase_times &times);

} // namespace dqbench
