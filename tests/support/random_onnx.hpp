// Random statements under numerics::onnx for given types, with data biased towards the hard cases of each type.
#pragma once

#include "random.hpp"

namespace dynquant::test {

struct onnx_types {
    direction dir;
    data_type real, quantized, scales;
    std::optional<data_type> zero_points;
};

/// All combinations of types that check() accepts for a quantized type.
std::vector<onnx_types> onnx_types_with(data_type quantized);

/// Layout, parameters, data and the type of the division are drawn.
sample random_onnx_statement(random_source &random, const onnx_types &types);

} // namespace dynquant::test
