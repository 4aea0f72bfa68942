// The results of performance mode for one case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"
#include "test_case.hpp"

namespace dqbench {

/// Statistics of one contestant's rounds or of creations, in milliseconds.
struct timing {
    double least, median, average, most;
    std::optional<double> quartile_range; // from the first quartile to the third; none: of one sample
};

/// A requested peer.
struct peer_measurement {
    peer_kind kind;
    std::optional<timing> time = {}; // none: it refused
    bool absent = false;             // this dqbench was built without it
};

struct measurement {
    dynquant::operation_info ran;
    timing creation = {}; // building and compiling
    std::int64_t elements = 0, input_bytes = 0, output_bytes = 0;
    timing own = {};
    std::vector<peer_measurement> peers = {};
};

} // namespace dqbench
