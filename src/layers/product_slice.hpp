// A product over a part of the inner dimension. integer_product adds the slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/parallel.hpp"
#include "quantization/environment.hpp"

namespace dynquant::layers {

/// y = x w, row-major, w and y dense. Immutable; run() is thread-safe.
class product_slice {
  public:
    struct problem {
        bool x_is_signed;
        std::int64_t rows, inner, columns;
        std::int64_t lines = 1; // of a row of x, each of inner / lines elements
        targets::features available = environment::usable_features();
    };

    product_slice() = default;
    product_slice(const product_slice &) = delete;
    product_slice &operator=(const product_slice &) = delete;
    virtual ~product_slice() = default;

    /// x is dense.
    virtual void run(const std::byte *x, std::int32_t *y) const = 0;
};

/// Rows of x that are each the concatenation of some lines, as a convolution's windows are: line i of row m begins at
/// lines[i] + m * stride. So a convolution needs no copies of its windows.
struct rows_of_lines {
    const std::byte *const *lines;
    std::int64_t stride, rows;
};

/// For any number of rows, whatever the problem says.
class any_rows_slice : public product_slice {
  public:
    /// Computes the columns of some panels on this thread. y_stride: elements from row to row of y.
    virtual void run_rows(
            const rows_of_lines &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const = 0;
    /// In how many panels the columns are.
    virtual std::int64_t panels() const = 0;
};

/// By AVX-512 VNNI or AMX, for any weights. Null for more rows than these take, and on other processors.
std::unique_ptr<const product_slice> make_few_rows_slice(const product_slice::problem &p, const std::int8_t *w);

/// By AVX-512 VNNI or AVX2, for any weights. Null where neither is there.
std::unique_ptr<const any_rows_slice> make_vector_slice(const product_slice::problem &p, const std::int8_t *w);

/// By plain loops, for any weights.
std::unique_ptr<const any_rows_slice> make_plain_slice(const product_slice::problem &p, const std::int8_t *w);

/// Limit for the total of the positive weights of a sum, and for that of the negative ones, within which oneDNN's sums
/// are exact. oneDNN may convert sums to f32, and may multiply s8 sources as u8 with a compensation. Sums stay within
/// 2^24, which f32 holds: 255 * 65536 for u8, 128 * 2 * 65536 for s8.
inline constexpr std::int64_t max_exact_sum = 65536;

/// The ends of slices of the inner dimension that each keep every column within max_exact_sum. All ends but the last
/// are multiples of 64, so that oneDNN's AMX products have no remainder.
std::vector<std::int64_t> exact_slices(const std::int8_t *w, std::int64_t inner, std::int64_t columns);

} // namespace dynquant::layers
