// The results of hardware that rescales by an integer and a right shift (Hanebutte et al., section 3.1), compared with
// those of ONNX's float operators. For `run --compare integer`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dqmodel {

/// sum * integer * 2^-shift, rounded half to even. Precondition: |integer| <= 2^24, so that 64 bits hold the product.
std::int64_t shift_and_round(std::int32_t sum, std::int64_t integer, int shift);

/// The rescaling of a layer, from its nodes. A layer whose sums are rescaled to several results has one per result.
struct layer_rescaling {
    std::string layer, sums; // label of the product, with the result's name where there are several; name of the sums
    std::string result = {}; // name of the uint8 or int8 result
    dynquant::onnx::element_type type = 0;
    std::vector<const dynquant::models::tensor *> multipliers = {};
    bool relu = false;
    std::string reason = {}; // why integers cannot state it; empty where they can
};

/// All rescalings of a pre-quantized model, in order. They point into g, which must outlive them.
std::vector<layer_rescaling> rescalings_of(const dynquant::models::graph &g);

/// The number of different results, the number of all results, and the largest difference.
struct integer_differences {
    std::int64_t count = 0, of = 0, largest = 0;
};

/// shape: of the result. Throws std::runtime_error for multipliers that are not an integer and a right shift, that make
/// several results of one sum, or that are negative beside a Relu.
integer_differences compare_with_integers(const layer_rescaling &l, const dynquant::dims &shape,
        std::span<const std::int32_t> sums, std::span<const std::byte> result);

} // namespace dqmodel
