// Windows as nodes state them.
#pragma once

#include "layers/window.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// From the node's attributes, for x of a batch, channels and spatial dimensions. Throws error for what does not fit.
layers::window window_of(const op_node &n, const dims &x, const dims &kernel);

} // namespace dynquant::models
