// What hardware would give that rescales by an integer and a right shift (prequantized models, 3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dqmodel {

/// sum * integer * 2^-shift, rounded half to even. |integer| is at most 2^24, so that 64 bits hold the product.
std::int64_t shifted(std::int32_t sum, std::int64_t integer, int shift);

/// A layer's rescaling as its nodes state it. A layer whose sums are rescaled to several results has several.
struct layer_rescaling {
    std::string layer, sums; // the product, with the result where there are several; a value
    std::string result = {}; // a value, of uint8 or int8
    dynquant::onnx::element_type type = 0;
    std::vector<const dynquant::models::tensor *> multipliers = {};
    bool relu = false;
    std::string without = {}; // why there is no integer view of it; empty where there is one
};

/// All of a pre-quantized model, in order. They point into the graph.
std::vector<layer_rescaling> rescalings_of(const dynquant::models::graph &g);

/// How a layer's results by integers differ from those of its floats.
struct integer_differences {
    std::int64_t count = 0, of = 0, largest = 0;
};

/// shape is that of the result. Throws std::runtime_error for multipliers that are no integer and a shift, and for
/// those that give several results of a sum.
integer_differences compare_with_integers(const layer_rescaling &l, const dynquant::dims &shape,
        std::span<const std::int32_t> sums, std::span<const std::byte> result);

} // namespace dqmodel
