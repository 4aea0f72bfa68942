// A product with constant weights, packed once, for any number of rows of x.
#pragma once

#include <memory>
#include <vector>

#include "layers/product_slice.hpp"

namespace dynquant::layers {

/// y[m][n] = sum over k of x[m][k] (w[k][n] - w_zero_points[n]), modulo 2^32. By this library's own loops.
class packed_product {
  public:
    struct problem {
        bool x_is_signed = false;                       // s8, else u8
        std::int64_t inner = 0, columns = 0, lines = 1; // of a row of x, see rows_of_lines
        std::vector<std::int32_t> w_zero_points = {};   // none, one, or one for each column
        targets::features available = environment::usable_features();
    };

    /// w is row-major and copied.
    packed_product(problem p, const std::int8_t *w);

    /// The column sums of w - w_zero_points, modulo 2^32.
    const std::vector<std::int32_t> &weight_sums() const { return weight_sums_; }

    /// On this thread. y_stride: elements from row to row of y.
    void run(const rows_of_lines &x, std::int32_t *y, std::int64_t y_stride) const;

    /// The number of parts that run_by_columns() splits the columns into.
    int column_parts(std::int64_t rows) const;
    /// On several threads, each of which reads some columns' weights: for few rows.
    void run_by_columns(const rows_of_lines &x, std::int32_t *y, std::int64_t y_stride) const;

  private:
    void subtract_zero_points(const rows_of_lines &x, std::int32_t *y, std::int64_t y_stride) const;

    problem problem_;
    std::vector<std::int32_t> weight_sums_;
    std::unique_ptr<const any_rows_slice> slice_;
};

} // namespace dynquant::layers
