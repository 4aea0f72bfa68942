// From nodes to the layer that computes them.
#pragma once

#include "layers/layer/weight_only_layer.hpp"
#include "layers/match/matcher.hpp"

namespace dynquant::layers::match {

/// ConvInteger or MatMulInteger alone, whose sums are the result. Its weights and their zero points are known; of
/// several matrices of weights, the shape is that of one and the zero points are those of all.
layer_description describe(const graph &g, const node &product);

/// That of one matrix of several.
layer_description of_matrix(layer_description d, std::int64_t matrix);

/// All of its nodes but what quantizes x, whose statement the caller prepares.
layer_description describe(const graph &g, const layer_match &m);

/// A weight-only layer.
weight_only_description describe_weight_only(const graph &g, const layer_match &m);

} // namespace dynquant::layers::match
