// Prints the results for one tensor.
#pragma once

#include <array>
#include <string>

#include "measure.hpp"
#include "npy/npy.hpp"
#include "parameters.hpp"

namespace example {

/// The result of plain oneDNN Graph for one op, with dynquant's input.
struct peer_result {
    measurement measured;
    std::int64_t differing = 0; // results that differ from dynquant's
};

struct report {
    std::string file;
    npy::tensor<float> tensor;
    statement requested;
    parameters derived;
    std::array<measurement, 2> ops; // by op_id
    std::array<peer_result, 2> peer;
    quality reached, per_tensor;
    std::array<std::string, 3> written;
};

void print(const report &r);

} // namespace example
