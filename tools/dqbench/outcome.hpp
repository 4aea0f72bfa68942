// What became of a case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"

namespace dqbench {

/// benchdnn's states.
enum class case_state { listed, skipped, invalid_arguments, unimplemented, executed, passed, mistrusted, failed };

struct outcome {
    case_state state;
    std::string reason = {}; // one line; empty when there is nothing to say
    std::optional<dynquant::operation_info> ran = {};
    std::vector<std::string> notes = {}; // lines below the result
    std::optional<measurement> measured = {};
};

/// Seconds spent in the parts of all cases.
struct phase_times {
    double create = 0, fill = 0, execute = 0, compare = 0, measure = 0;
};

} // namespace dqbench
