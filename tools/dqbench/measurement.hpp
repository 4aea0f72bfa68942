// What performance mode found out about one case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"
#include "test_case.hpp"

namespace dqbench {

/// Statistics of one contestant's rounds, in milliseconds.
struct timing {
    double least, median, average, most;
};

struct measurement {
    dynquant::operation_info ran;
    double creation_ms = 0;
    std::int64_t elements = 0, input_bytes = 0, output_bytes = 0;
    timing own = {};
    std::optional<timing> peer = {}; // none: there is no peer or it refused
};

} // namespace dqbench
