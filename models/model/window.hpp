// Sliding windows from the attributes of a node.
#pragma once

#include "layers/conv/window.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// x is the shape N, C, spatial dimensions. Throws error for values that do not fit.
layers::window window_of(const op_node &n, const dims &x, const dims &kernel);

} // namespace dynquant::models
