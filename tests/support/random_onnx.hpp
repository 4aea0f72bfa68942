// Random statements under numerics::onnx, whose types are given: data that looks for trouble in each of them.
#pragma once

#include "random.hpp"

namespace dynquant::test {

struct onnx_types {
    direction dir;
    data_type real, quantized, scales;
    std::optional<data_type> zero_points;
};

/// All that check() accepts for a quantized type.
std::vector<onnx_types> onnx_types_with(data_type quantized);

/// Layout, parameters, data and the type of the division are drawn.
sample random_onnx_statement(random_source &random, const onnx_types &types);

} // namespace dynquant::test
