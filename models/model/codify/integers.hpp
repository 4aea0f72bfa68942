// The int8 weights and int32 bias of a layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/codify/layers.hpp"

namespace dynquant::models {

/// The input of a layer, X = scale X_q. `largest` is the largest magnitude of X_q.
struct integer_input {
    double scale = 1;
    int largest = 255;
};

/// The sums W_q X_q + B_q stay within int32 for all X_q.
struct layer_integers {
    std::vector<double> scales;          // of the weights: one, or one per output channel
    std::vector<std::int8_t> weights;    // in the layer's order
    std::vector<std::int32_t> bias;      // one per output channel, or empty
    std::vector<std::string> notes = {}; // for the user
};

/// Quantizes weights by their largest magnitude / 127, and the bias by equation 6, B_q = B / (scale_W scale_X). Where
/// the sums could exceed int32, scales are larger, by at most 1 % more than needed. The scale of all-zero weights is 1.
layer_integers integers_of(const float_layer &l, const integer_input &x, bool per_channel);

} // namespace dynquant::models
