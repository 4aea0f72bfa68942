// src/layers/gemm/by_blocks: products by constant weights of 4 or 8 bits, of x that is quantized on the fly to 8 bits
// in the blocks of rows in which the weights have their scales. ONNX Runtime's MatMulNBits computes so at accuracy
// level 4. isa/ has the loops. Start here.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/gemm/aligned_vector.hpp"
#include "layers/gemm/by_blocks/block_panels.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

struct float_rows;
struct weight_only_weights;

/// Whether a block_product knows such weights: integers of 4 or 8 bits, in blocks of 16, 32, 64, 128 or 256 rows, by
/// single columns.
bool have_blocks(const weight_only_weights &w);

/// y = x times w, in f32, with x quantized. Immutable.
///
/// The result is defined, the same bits for every instruction set, number of threads, split, and set of other rows. Of
/// each row of x each block of the weights' rows, of which the last one may be shorter, has
///     m = the largest |x[k]|,  scale_x = f32(m / 127),  r = min(f32(127 / m), FLT_MAX), or 0 where m is 0,
///     code[k] = f32(x[k] * r), rounded to the nearest integer, of two the even one, from -127 to 127.
/// Where an element is infinite or NaN, scale_x is NaN and the codes are 0. Then d = the sum of
/// code[k] * (q[k] - zero point), which is exact, and y = fma(f32(d), f32(scale_x * scale), y) for each block in turn,
/// from y = 0 on. f32(d) is exact, too: |d| < 256 * 127 * 256 < 2^23.
class block_product {
  public:
    /// Takes weights that have_blocks().
    block_product(const weight_only_weights &w, targets::features available);
    block_product(const weight_only_weights &w, const block_loop &loop);
    block_product(block_product &&) = default; // what panels_ points to stays where it is

    /// What the packed weights take, with scales and zero points.
    std::size_t bytes() const;

    /// Computes all columns of some rows, on several threads. The elements of a row of x are adjacent. memory: of a
    /// run, which the caller keeps. Thread-safe.
    void run(const float_rows &x, float *y, std::int64_t y_stride, aligned_vector<std::byte> &memory) const;

  private:
    std::int64_t panels() const;
    void pack(const weight_only_weights &w, std::byte *to) const;

    block_loop loop_;
    std::int64_t inner_;
    block_panels panels_; // points into what follows
    std::shared_ptr<const std::byte> data_;
};

} // namespace dynquant::layers
