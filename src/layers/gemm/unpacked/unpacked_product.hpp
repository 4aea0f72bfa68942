// src/layers/gemm/unpacked: products of few rows of x by weights that each run gives anew. They are read where they
// lie: packing would read and write all of them first. isa/ has the loops. May include what gemm may.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/gemm/aligned_vector.hpp"
#include "layers/gemm/weights.hpp"
#include "parallel/parallel.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// What the loops take. Columns of w are adjacent in memory, or rows are.
struct unpacked_product {
    const std::int16_t *x; // rows less their zero points; a 0 stands behind each where `inner` is odd
    std::int64_t rows, x_stride;
    const std::byte *w;
    std::int64_t inner, w_stride; // from row to row of w, or from column to column
    bool w_is_signed, has_adjacent_rows;
};

/// Computes some columns of all rows of y, which wrap. y_stride: elements from row to row of y.
using multiply_unpacked_function = void (*)(
        const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride);
extern const targets::candidate<const multiply_unpacked_function *> unpacked_table[];

/// More rows are faster by packed weights.
inline constexpr std::int64_t most_unpacked_rows = 4;

struct unpacked_operands {
    const std::byte *x; // row-major
    bool x_is_signed;
    std::int64_t rows, inner, columns;
    std::span<const std::int32_t> x_zero_points; // none, one, or one for each row; |x - zero point| < 2^15
    constant_weights w;                          // no flip; of_filter or of_channel is 1
    bool w_is_signed;
    std::span<const std::int32_t> w_zero_points; // none, one, or one for each column
};

bool can_multiply_unpacked(const unpacked_operands &o);

/// y: row-major, the sums of (x - zero point) (w - zero point), modulo 2^32. words: memory that only grows.
void multiply_unpacked(
        const unpacked_operands &o, targets::features available, aligned_vector<std::int16_t> &words, std::int32_t *y);

} // namespace dynquant::layers
