// Correctness mode.
#pragma once

#include "compiled_case.hpp"
#include "outcome.hpp"

namespace dqbench {

/// Runs the case on the data that it asks for and says passed, mistrusted or failed. What a peer makes of the same
/// inputs becomes a note. Beside peers that compute, passed is compared, with a note about dynquant, too.
outcome check(compiled_case &c, phase_times &times);

/// Runs the case twice: both runs must write the same bits.
outcome check_bitwise(compiled_case &c, phase_times &times);

} // namespace dqbench
