// LayerNormalization and RMSNormalization as the end of a layer.
#pragma once

#include "layers/match/cursor.hpp"

namespace dynquant::layers::match {

/// Adds the normalization of a value to its product's layer, where there is one: a node, one that adds a residual as
/// well, or the nodes that exporters wrote before there were such operators. Others may take the value, too.
void take_normalization(layer_part &layer, const cursor &c);

} // namespace dynquant::layers::match
