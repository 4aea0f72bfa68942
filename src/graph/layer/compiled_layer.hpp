// A layer whose shapes are known: what an execution does with its buffers. What it reads of them is in x_reader.hpp
// and constants.hpp.
#pragma once

#include "graph/layer/layer_shapes.hpp"

namespace dynquant::graph::core {

std::unique_ptr<const compiled> compile_layer(std::string label, layer_shapes shapes, kernels::kernel_list kernels);

} // namespace dynquant::graph::core
