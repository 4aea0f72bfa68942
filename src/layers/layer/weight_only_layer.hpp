// A product of floats by weights that stay narrow, with the post-ops behind it. Any shape of x.
#pragma once

#include <string>
#include <vector>

#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "layers/layer/layer.hpp"

namespace dynquant::layers {

struct weight_only_description {
    std::string label; // what messages call it
    weight_only_weights weights;
    bool is_convolution = false; // of one tap, channels first; the weights are [columns, inner]
    std::size_t x_rank = 0;      // 0: any from 1 on
    std::vector<post_op> post_ops = {};
};

/// Immutable: many threads may run it at once.
class weight_only_layer {
  public:
    /// The memory of a run, which the caller keeps. Each run at a time needs its own.
    struct memory {
        weight_only_workspace of_product;
        std::vector<float> products;
    };

    /// Packs the weights, unless each run gives them. available: the features of the processor that loops may use.
    weight_only_layer(const weight_only_description &d, targets::features available,
            weight_storage storage = weight_storage::packed);

    /// The shape of y. Throws error for an x whose rows the weights do not fit.
    dims y_of(const dims &x) const;

    /// x, y: dense.
    void run(const float *x, const dims &x_shape, float *y, memory &m) const;
    /// Of rows of x that are matrices; nothing is allocated but memory that grows. tensor: of post_op_kind::add_tensor,
    /// as y. data: of weights that are given.
    void run_rows(const float *x, std::int64_t rows, float *y, memory &m, const float *tensor = nullptr,
            const std::byte *data = nullptr) const;

  private:
    void run_images(const float *x, std::int64_t images, std::int64_t rows, float *y, memory &m,
            const float *tensor = nullptr, const std::byte *data = nullptr) const;

    std::string label_;
    bool is_convolution_;
    std::size_t x_rank_;
    weight_only_product product_;
    std::vector<post_op> owned_;
    std::vector<post_op_view> post_ops_;
    const epilogue_loops &epilogue_;
};

} // namespace dynquant::layers
