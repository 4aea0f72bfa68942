// What a layer multiplies by and adds, in integers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/codify/layers.hpp"

namespace dynquant::models {

/// The input of a layer, X = scale X_q: its scale, and the largest magnitude of X_q.
struct integer_input {
    double scale = 1;
    int largest = 255;
};

/// Sums W_q X_q + B_q stay within int32, whatever X_q is.
struct layer_integers {
    std::vector<double> scales;          // of the weights: one, or one for each output channel
    std::vector<std::int8_t> weights;    // as the layer's
    std::vector<std::int32_t> bias;      // for each output channel, or none
    std::vector<std::string> notes = {}; // what a person should know
};

/// Weights by scales of their largest magnitude to 127, or by the least ones up to 1 % larger than needed by which
/// sums and biases stay within int32; and equation 6, B_q = B / (scale_W scale_X). Scales of zeros are 1.
layer_integers integers_of(const float_layer &l, const integer_input &x, bool per_channel);

} // namespace dynquant::models
