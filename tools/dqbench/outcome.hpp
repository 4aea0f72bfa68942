// The result of one case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"

namespace dqbench {

/// benchdnn's states, and compared: passed, where peers were asked, too, who may have failed.
enum class case_state {
    listed,
    skipped,
    invalid_arguments,
    unimplemented,
    initialized,
    executed,
    passed,
    compared,
    mistrusted,
    failed
};

struct outcome {
    case_state state;
    std::string reason = {}; // one line, or empty
    std::optional<dynquant::operation_info> ran = {};
    std::vector<std::string> notes = {}; // lines below the result
    std::optional<measurement> measured = {};
};

/// Seconds in each phase, summed over all cases.
struct phase_times {
    double create = 0, fill = 0, execute = 0, compare = 0, measure = 0;
};

} // namespace dqbench
