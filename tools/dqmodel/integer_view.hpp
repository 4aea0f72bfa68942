// What hardware would give that rescales by an integer and a right shift (prequantized models, 3.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dqmodel {

/// sum * integer * 2^-shift, rounded half to even. |integer| is at most 2^24, so that 64 bits hold the product.
std::int64_t shifted(std::int32_t sum, std::int64_t integer, int shift);

/// A layer's rescaling as its nodes state it.
struct layer_rescaling {
    std::string layer, sums, result; // the product's name; values
    std::vector<const dynquant::models::tensor *> multipliers;
    bool relu = false;
    std::string without; // why there is no integer view of it; empty where there is one
};

/// Of all layers of a pre-quantized model, in order. They point into the graph.
std::vector<layer_rescaling> rescalings_of(const dynquant::models::graph &g);

/// How a layer's results by integers differ from those of its floats.
struct integer_differences {
    std::int64_t count = 0, of = 0, largest = 0;
};

/// `result` has elements of uint8 or int8; shape is that of sums. Throws std::runtime_error for multipliers that are no
/// integer and a shift.
integer_differences compare_with_integers(const layer_rescaling &l, const dynquant::dims &shape,
        const std::int32_t *sums, const void *result, bool is_unsigned);

} // namespace dqmodel
