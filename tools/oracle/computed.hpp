// The oracle's rules for computed scales: the formulas of dynquant/scale_rule.hpp in exact arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant::test::oracle {

/// What a block's elements are quantized by.
struct computed_block {
    std::uint32_t scale;     // bits of the scales' type
    std::int64_t zero_point; // 0 without zero points
    float range, low;        // R, and lo or 0
};

/// Of the values of one block.
computed_block compute_block(const quantization &q, const std::vector<float> &values, float global_scale);

/// The bits of the code of one element of the block.
std::uint32_t code_of(const quantization &q, const computed_block &block, float x, float global_scale);

} // namespace dynquant::test::oracle
