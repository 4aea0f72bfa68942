// src/layers/gemm/weight_only: products of floats by constant weights that stay narrow in memory: DequantizeLinear and
// MatMul in one. isa/ has the loops. Start here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dynquant/quantization.hpp"
#include "layers/gemm/aligned_vector.hpp"
#include "layers/gemm/by_blocks/block_product.hpp"
#include "layers/gemm/weight_only/weight_only_panels.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// Weights as DequantizeLinear has them: (q - zero point) * scale. The columns are the outputs.
struct weight_only_weights {
    data_type type; // s8, u8, s4, u4, f8_e4m3 or f8_e5m2
    std::int64_t inner, columns;
    const std::byte *data;      // row-major [inner, columns]; 4 bits as ONNX packs them, low half first, without gaps
    bool is_transposed = false; // [columns, inner]
    std::int64_t block;         // rows that share a scale; inner or more: all
    std::vector<float> scales;  // row-major [ceil(inner / block), scale_columns]
    std::vector<std::int32_t> zero_points; // as the scales, of the weights' type; none: empty, as for floats
    std::int64_t scale_columns;            // columns, or 1: all columns have the same
    bool are_float16 = false;              // the products by the scales are rounded to float16
    /// Columns that share a scale; scale_columns is ceil(columns / column_group). Of several, are_float16 is false.
    std::int64_t column_group = 1;
    bool quantizes_x = false; // x becomes s8 in the same blocks of rows: by_blocks/block_product.hpp
};

/// Whether zero points are values that the weights could have, as ONNX wants them and weight_only_product takes them.
bool have_zero_points_of_their_type(const weight_only_weights &w);

/// Whether weights can be read where they lie, by few rows of x.
bool can_multiply_given(const weight_only_weights &w);
enum class weight_storage { packed, given };

/// The memory of a run, which the caller keeps: it serves any product, and only grows. Each run at a time needs its
/// own.
struct weight_only_workspace {
    std::vector<aligned_vector<float>> parts;
    aligned_vector<std::byte> quantized_x;
};

/// y = x times w, in f32. Immutable.
///
/// The result is defined, the same bits for every instruction set, number of threads, split, and set of other rows
/// (which NaN a NaN is, is not). For each block in turn acc = 0, and for each of its rows k in order
/// acc = fma(x[k], q[k] - zero point, acc): the difference is exact. The first block gives sum = acc * scale, later
/// ones sum = fma(acc, scale, sum). Where each row has a scale of its own (block 1 of more rows), one block has all
/// rows and acc = fma(x[k], f32((q[k] - zero point) * scale), acc) is the sum. So it is where weights are float16, with
/// f16() in place of f32(). Where groups of columns share scales, x is scaled: one block has all rows and
/// acc = fma(f32(x[k] * scale), q[k] - zero point, acc) is the sum.
///
/// How far that is from S, the exact sum of x[k] w[k] with the weights w[k] = f32((q[k] - zero point) * scale) that
/// DequantizeLinear gives, where nothing over- or underflows: u = 2^-24 bounds a rounding, and a product of m factors
/// 1 + e or 1 / (1 + e), |e| <= u, is 1 + t, |t| <= gamma(m) = m u / (1 - m u) (Higham, Accuracy and Stability of
/// Numerical Algorithms, lemma 3.1). A term of a block of n rows is rounded at most n times as acc grows, then once
/// for each block from its own on, at most B times; and the exact (q - zero point) * scale is w[k] / (1 + e). So
/// |y - S| <= gamma(n + B + 1) * sum of |x[k] w[k]|; where each row has a scale, or the weights are float16, gamma(K)
/// for K rows. Of groups of columns, f32(x[k] * scale) is rounded once, a term at most K times as acc grows, and
/// w[k] / (1 + e) is as above: gamma(K + 2).
class weight_only_product {
  public:
    /// storage: of weights that are given, each run has the data in place of w.
    weight_only_product(
            const weight_only_weights &w, targets::features available, weight_storage storage = weight_storage::packed);
    weight_only_product(weight_only_product &&) = default; // what panels_ points to stays where it is

    std::int64_t inner() const { return panels_.inner; }
    std::int64_t columns() const { return panels_.columns; }
    /// What the packed weights take, with scales and zero points.
    std::size_t bytes() const;

    /// Computes all columns of some rows, on several threads. y_stride: elements from row to row. data: of weights that
    /// are given, for at most max_given_x_rows. Thread-safe.
    void run(const float_rows &x, float *y, std::int64_t y_stride, weight_only_workspace &memory,
            const std::byte *data = nullptr) const;

    // What follows does the same for the windows of a convolution, some columns at a time: weight_only_panels.hpp.

    const weight_only_loop &loop() const { return loop_; }
    std::int64_t panels() const;
    void run_windows(const windows_of_vectors &x, const window_results &results, float *scratch) const {
        loop_.multiply_windows(panels_, x, results, scratch);
    }

  private:
    void pack_weights(const weight_only_weights &w, bool are_subtracted);
    void pack_parameters(const weight_only_weights &w, bool has_zero_points);
    void pack_groups(const weight_only_weights &w, bool has_zero_points, weight_storage storage);
    void run_given(const weight_only_panels &p, const float_rows &x, float *y, std::int64_t y_stride,
            weight_only_workspace &memory) const;

    weight_only_loop loop_;
    weight_only_panels panels_; // points into what follows
    std::shared_ptr<const std::byte> weights_;
    std::shared_ptr<const float> scales_;
    std::size_t scale_count_ = 0;
    std::vector<std::int8_t> zero_points_;
    std::vector<float> x_scales_;                // of groups of columns
    std::vector<std::int8_t> group_zero_points_; // likewise
    std::optional<block_product> by_blocks_;     // in place of all these, where x is quantized
};

} // namespace dynquant::layers
