// The definition of layers' results, by plain loops: integer sums element by element, modulo 2^32, then the steps one
// after the other in f32. It takes what describes a layer of src/layers, and none of its code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layers/layer.hpp"
#include "layers/narrow/narrow_product.hpp"

namespace dqbench::verify {

/// A layer and what it takes.
struct layer_inputs {
    dynquant::layers::layer_description d; // of whose `prepare` only matters whether there is one
    dynquant::dims x_shape;                // of a convolution channels first, however x lies
    std::vector<std::byte> x, w;           // x: floats where the layer quantizes them
    std::vector<std::int32_t> x_zero_points;
    std::vector<float> x_scales;
};

/// Of a convolution channels first, however y lies.
dynquant::dims y_shape(const dynquant::layers::layer_description &d, const dynquant::dims &x);

std::vector<std::byte> reference_result(const layer_inputs &given);

/// A product of floats by narrow weights; or a convolution of one tap, whose x is [images, inner, positions].
struct narrow_inputs {
    dynquant::layers::narrow_weights w; // without data
    std::vector<std::byte> data;
    bool is_convolution = false;
    dynquant::dims x_shape;
    std::vector<float> x;
    std::vector<dynquant::layers::step> steps;
};

std::vector<float> reference_result(const narrow_inputs &given);

} // namespace dqbench::verify
