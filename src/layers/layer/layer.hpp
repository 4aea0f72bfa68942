// src/layers: layers of quantized models by integers. x is bytes, or is quantized here; its products by constant
// weights have exact s32 sums (gemm/, conv/); the epilogue makes the result of them (epilogue/): sums, floats, or
// bytes, which may pass a table. match/ finds layers in graphs. Or only the weights are quantized, and x and the sums
// are floats: weight_only_layer.hpp. ONNX Runtime's execution provider and models on disk run layers. Start here, then
// conv/accumulator_source.hpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"
#include "layers/conv/integer_convolution.hpp"
#include "layers/epilogue/epilogue.hpp"
#include "layers/epilogue/lookup/lookup.hpp"
#include "layers/gemm/aligned_vector.hpp"
#include "layers/layer/permute.hpp"
#include "layers/layer/quantize_x.hpp"

namespace dynquant::layers {

/// A post-op with parameters of its own.
struct post_op {
    post_op_kind what;
    std::vector<float> a = {}, b = {};
    std::vector<std::uint8_t> table = {};
};

/// Views of post-ops, which outlive it. The parameters of channels are copied, to where vectors of them lie in one
/// cache line each.
class aligned_post_ops {
  public:
    aligned_post_ops() = default;
    /// times: so often follow the parameters of all channels one another.
    explicit aligned_post_ops(std::span<const post_op> of, std::int64_t times = 1);
    aligned_post_ops(aligned_post_ops &&) = default; // the parameters stay where they are
    aligned_post_ops &operator=(aligned_post_ops &&) = default;

    std::span<const post_op_view> views() const { return views_; }

  private:
    std::vector<aligned_vector<float>> values_;
    std::vector<post_op_view> views_;
};

/// A normalization_view with parameters of its own. bias: none, or one for each channel.
struct normalization {
    bool has_mean = true;
    float epsilon = 0;
    std::vector<float> scale = {}, bias = {};

    normalization_view view() const { return {has_mean, epsilon, scale.data(), bias.empty() ? nullptr : bias.data()}; }
};

/// What a layer is made of, whatever the shape of x.
struct layer_description {
    std::string label;                  // what messages call it
    bool is_convolution = false;        // ConvInteger, else MatMulInteger
    prepare_function prepare = nullptr; // of what quantizes x. Null: x comes as bytes
    bool x_is_signed = false;
    bool x_is_channels_last = false, y_is_channels_last = false; // in memory, of a convolution
    /// Of MatMulInteger: x is [batch, heads, rows, size of a head], a row of all heads one of the product.
    bool x_has_heads = false;
    /// Likewise y, of x of rank 3, if they are not 0; or it is [batch, heads, size of a head, rows].
    std::int64_t y_heads = 0;
    bool y_heads_are_transposed = false;
    std::optional<std::int32_t> x_zero_point = 0; // none: it comes with the run, or from what quantizes x
    /// Each row of x, or image of a convolution, has a scale and, if it comes with the run, a zero point of its own.
    bool scales_by_row = false;
    bool w_is_signed = true;
    dims weights_shape;                      // of ConvInteger: rank 3 or more; of MatMulInteger: rank 2
    std::vector<std::int32_t> w_zero_points; // none, one, or one for each channel
    std::int64_t groups = 1;
    window_attributes window;
    std::vector<std::int32_t> bias = {}; // of the sums, wraps: none, one value, or one for each channel
    std::vector<post_op> post_ops = {};
    result_type result = result_type::s32;                   // bytes: the last post-op is saturate or look_up
    std::optional<lookup::table> table = {};                 // a last post-op on the bytes
    std::optional<layers::normalization> normalization = {}; // of MatMulInteger's floats, last
};

/// The convolution of a layer, without what depends on the shape of x. A product is one of one tap. Throws error for
/// what breaks ONNX's rules and needs no shape of x.
integer_convolution convolution_of(const layer_description &d, targets::features available);

/// A description whose weights are packed.
class packed_layer {
  public:
    /// Copies the weights, which lie in memory in any order; `flip` is set here. available: the features of the
    /// processor that loops may use. only: the algorithm of a convolution, where it is not to be chosen. Throws as
    /// convolution_of().
    packed_layer(layer_description given, constant_weights weights, targets::features available,
            std::optional<algorithm> only = {});
    /// Row-major weights.
    packed_layer(const layer_description &given, const std::byte *weights, targets::features available,
            std::optional<algorithm> only = {});
    /// Shares the packed weights of a layer that differs in its label, bias, post-ops and result alone.
    packed_layer(layer_description given, const packed_layer &packed);

    const layer_description &description() const { return description_; }
    const integer_convolution &convolution() const { return convolution_; }
    /// Makes the sums for x of one shape. c is convolution() with what depends on that shape.
    std::unique_ptr<const accumulator_source> sums_of(const integer_convolution &c) const;
    /// Whether the first two post-ops, both multipliers, have become one, with identical results.
    bool is_folded() const { return is_folded_; }

  private:
    layer_description description_;
    integer_convolution convolution_; // without what depends on the shape of x
    convolution_factory packed_;      // none: the weights have no elements
    bool is_folded_;
};

/// x: floats where the layer quantizes them, else bytes. y: as the description's result.
struct layer_arguments {
    const void *x;
    void *y;
    /// Ignored where the layer quantizes x, and the zero points where the description has one. Else one, or one for
    /// each row where scales_by_row.
    std::span<const std::int32_t> x_zero_points = {};
    std::span<const float> x_scales = {};
    const float *tensor = nullptr; // of post_op_kind::add_tensor: lies as y does, and shares no memory with it
    float *before = nullptr;       // what a normalization is of, as y; null: nobody wants it
};

/// Immutable: many threads may run it at once.
class layer {
  public:
    /// The problem outlives it. Throws error for a shape that the weights do not fit.
    layer(const packed_layer &p, const dims &x);

    const dims &x() const { return x_; }
    const dims &y() const { return y_; }
    /// How many scales and zero points x has: one, or one for each row or image.
    std::int64_t rows() const;

    /// Allocates only while the memory grows.
    void run(const layer_arguments &given, workspace &memory) const;

  private:
    integer_convolution plan_product(const integer_convolution &problem);
    void split_heads();
    integer_convolution plan_convolution(const integer_convolution &problem);
    /// What quantized x, or how it came.
    struct parameters {
        std::span<const std::int32_t> zero_points, bias; // bias: of each channel, or none
        std::span<const float> scales;
    };
    bool has_scales_by_position() const { return d_.scales_by_row && !d_.is_convolution; }
    void join_positions();
    void plan_ending();
    sums_ending ending_for(const parameters &of_x, std::vector<float> &memory) const;
    /// Of sums that start from it.
    void pad(std::vector<std::int32_t> &bias) const;
    epilogue epilogue_for(const parameters &of_x, std::int64_t image, std::int64_t in_image) const;
    void finish_rows(const accumulator_block &block, const parameters &of_x, const layer_arguments &given) const;
    void finish_planes(const accumulator_block &block, const parameters &of_x, const layer_arguments &given) const;
    void look_up(std::uint8_t *y, std::int64_t channels, std::int64_t positions) const;

    const layer_description &d_;
    dims x_, y_;
    std::int64_t images_ = 1, positions_ = 0, channels_ = 0; // of a y with elements: images of positions of channels
    bool y_is_channels_first_ = false;
    std::int64_t y_blocks_ = 1; // else each image is so many blocks of channels one behind the other, channels last
    std::unique_ptr<const accumulator_source> sums_; // null where y has no elements
    std::optional<x_quantizer> quantizer_;
    bool permutes_ = false;
    permutation to_channels_last_; // of x's bytes, before the sums
    bool joins_heads_ = false;     // once they are bytes, which takes less time than to quantize them in that order
    permutation join_heads_;
    std::vector<std::int32_t> bias_; // where no zero point of a run is in it
    /// The product may write y itself: sums with their bias, or floats as sums_ending makes them.
    bool is_written_at_once_ = false;
    std::vector<float> factors_, summands_;       // of y's floats; factors_: less x's scale where the run has it
    std::optional<std::pair<float, float>> clip_; // of them, then
    aligned_post_ops post_ops_;
    std::int64_t joined_ = 1; // positions that pass the epilogue as one: epilogue::positions_that_fill_tiles()
    aligned_post_ops joined_post_ops_;
    aligned_vector<std::int32_t> joined_weight_sums_, rows_behind_;
    std::vector<std::int64_t> first_rows_; // with rows_behind_, the epilogue's
    const epilogue_loops &epilogue_;
    lookup::look_up_function look_up_;
};

} // namespace dynquant::layers
