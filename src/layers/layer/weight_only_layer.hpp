// A product of floats by narrow weights, with the steps behind it. Any shape of x.
#pragma once

#include <string>
#include <vector>

#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "layers/layer/layer.hpp"

namespace dynquant::layers {

struct narrow_description {
    std::string label; // what messages call it
    narrow_weights weights;
    bool is_convolution = false; // of one tap, channels first; the weights are [columns, inner]
    std::size_t x_rank = 0;      // 0: any from 1 on
    std::vector<step> steps = {};
};

/// Immutable: many threads may run it at once.
class narrow_layer {
  public:
    /// The memory of a run, which the caller keeps. Each run at a time needs its own.
    struct memory {
        narrow_memory of_product;
        std::vector<float> products;
    };

    /// Packs the weights. available: of the loops.
    narrow_layer(const narrow_description &d, targets::features available);

    /// The shape of y. Throws error for an x whose rows the weights do not fit.
    dims y_of(const dims &x) const;

    /// x, y: dense.
    void run(const float *x, const dims &x_shape, float *y, memory &m) const;

  private:
    std::string label_;
    bool is_convolution_;
    std::size_t x_rank_;
    narrow_product product_;
    std::vector<step> owned_;
    std::vector<float_step> steps_;
    const float_steps_loops &compute_;
};

} // namespace dynquant::layers
