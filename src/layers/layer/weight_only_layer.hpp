// A product of floats by weights that stay narrow, with the post-ops behind it. Any shape of x.
#pragma once

#include <optional>
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
    std::optional<layers::normalization> normalization = {}; // last, not of a convolution
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

    /// Takes what floats have of layer_arguments, all dense.
    void run(const layer_arguments &given, const dims &x_shape, memory &m) const;
    /// Does the same for rows of x, which are matrices, and allocates only while the memory grows. weights: where each
    /// run gives them.
    void run_rows(const layer_arguments &given, std::int64_t rows, memory &m, const std::byte *weights = nullptr) const;

  private:
    void run_images(const layer_arguments &given, std::int64_t images, std::int64_t rows, memory &m,
            const std::byte *weights = nullptr) const;

    std::string label_;
    bool is_convolution_;
    std::size_t x_rank_;
    weight_only_product product_;
    std::vector<post_op> owned_;
    std::vector<post_op_view> post_ops_;
    std::optional<normalization> normalization_;
    const epilogue_loops &epilogue_;
};

} // namespace dynquant::layers
