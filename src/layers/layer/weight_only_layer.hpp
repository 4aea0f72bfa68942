// A product of floats by weights that stay narrow, with the post-ops behind it. Any shape of x.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/conv/window.hpp"
#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "layers/layer/layer.hpp"

namespace dynquant::layers {

struct weight_only_description {
    std::string label; // what messages call it
    weight_only_weights weights;
    std::vector<std::byte> copy = {}; // memory for weights that lie nowhere else as they are wanted
    bool is_convolution = false;      // channels first; the weights are [columns, inner]
    std::size_t x_rank = 0;           // 0: any from 1 on
    dims kernel = {};                 // of a convolution; empty: of one tap, and y has the positions of x
    std::int64_t groups = 1;          // of channels and columns. inner: the channels of a group, of each its taps
    window_attributes window = {};
    std::vector<post_op> post_ops = {};
    std::optional<layers::normalization> normalization = {}; // last, not of a convolution
};

/// Immutable: many threads may run it at once.
///
/// Each group of a convolution is a product, as weight_only_product.hpp defines it: the rows k of its weights are
/// channel by channel the taps, row-major, and x[k] is what the tap meets. In the padding that is 0, which counts as
/// any other x: by a weight that is infinite or NaN it is NaN.
class weight_only_layer {
  public:
    /// The memory of a run, which the caller keeps. Each run at a time needs its own.
    struct memory {
        weight_only_workspace of_product;
        std::vector<float> products;
        aligned_vector<float> windows;
    };

    /// Packs the weights, unless each run gives them. available: the features of the processor that loops may use.
    weight_only_layer(const weight_only_description &d, targets::features available,
            weight_storage storage = weight_storage::packed);

    /// The shape of y. Throws error for an x whose rows or window the weights do not fit.
    dims y_of(const dims &x) const;

    /// Takes what floats have of layer_arguments, all dense.
    void run(const layer_arguments &given, const dims &x_shape, memory &m) const;
    /// Does the same for rows of x, which are matrices, and allocates only while the memory grows. weights: where each
    /// run gives them.
    void run_rows(const layer_arguments &given, std::int64_t rows, memory &m, const std::byte *weights = nullptr) const;

  private:
    void run_images(const layer_arguments &given, std::int64_t images, std::int64_t rows, memory &m,
            const std::byte *weights = nullptr) const;
    void finish(const layer_arguments &given, const float *products, std::int64_t count, std::int64_t at,
            std::int64_t rows) const;
    void end_sums();
    void run_windows(const layer_arguments &given, std::int64_t images, const window &w, memory &m) const;
    /// over_x: becomes the window of a convolution that has a kernel.
    dims y_of(const dims &x, std::optional<window> &over_x) const;
    window window_over(const dims &x) const;

    std::string label_;
    bool is_convolution_;
    std::size_t x_rank_;
    dims kernel_;
    window_attributes window_;
    std::int64_t groups_;
    weight_only_product product_; // of all groups, whose filters have each the rows of one
    std::vector<post_op> owned_;
    aligned_post_ops post_ops_;
    std::int64_t joined_; // rows that pass the epilogue as one: epilogue::positions_that_fill_tiles()
    aligned_post_ops joined_post_ops_;
    bool sums_are_ended_ = false, has_clip_ = false; // of windows, by what follows: window_results has it
    static constexpr float no_summand = -0.0F;
    std::span<const float> summands_ {&no_summand, 1};
    float lower_ = 0, upper_ = 0;
    std::optional<normalization> normalization_;
    const epilogue_loops &epilogue_;
};

} // namespace dynquant::layers
