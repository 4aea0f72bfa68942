// src/layers/gemm: products by constant weights, packed once in panels, for any number of rows of x: of bytes, and, in
// weight_only/, of floats. isa/ has the loops. May include: dynquant/quantization.hpp, elements,
// parallel, quantization, targets. Start here, then panel_product.hpp.
#pragma once

#include <memory>
#include <vector>

#include "layers/gemm/panel_product.hpp"
#include "layers/gemm/saturation_excess.hpp"
#include "layers/gemm/weights.hpp"
#include "layers/gemm/zero_points.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {

/// y[m][n] = sum over k of x[m][k] (w[k][n] - w_zero_points[n]), modulo 2^32. Row k of w has channel k % channels of
/// tap k / channels. Immutable.
class packed_product {
  public:
    struct problem {
        bool x_is_signed = false; // s8, else u8
        std::int64_t channels = 0, taps = 1, columns = 0;
        std::int64_t lines = 1;                       // of a row of x, a divisor of its elements
        std::vector<std::int32_t> w_zero_points = {}; // none, one, or one for each column
    };

    /// Packs for the best loops for the processor and the weights.
    packed_product(const problem &p, const constant_weights &w, targets::features available);
    packed_product(problem p, const panel_loop &kind, const constant_weights &w);
    packed_product(packed_product &&) = default; // what product_ points to stays where it is

    /// The column sums of w - w_zero_points, modulo 2^32.
    const std::vector<std::int32_t> &weight_sums() const { return weight_sums_; }
    std::int64_t bytes() const { return own_panels() * product_.panel_bytes + (narrower_ ? narrower_->bytes() : 0); }
    std::int64_t panels() const { return own_panels() + (narrower_ ? narrower_->panels() : 0); }

    /// Whether weights have zero points, so that run() wants the sums of the rows of x.
    bool takes_row_sums() const {
        return !problem_.w_zero_points.empty() || (narrower_ && narrower_->takes_row_sums());
    }
    static constexpr std::int64_t padding_columns = 64;
    void sum_rows(const indirect_rows &x, parallel::range rows, std::int32_t *to) const {
        layers::sum_rows(product_, x, rows, to);
    }

    /// Computes the columns of some panels on this thread. y_stride: elements from row to row of y. Of s8 x there is no
    /// ending.
    void run(const indirect_rows &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const;

  private:
    /// Loops of the first columns and of the others, perhaps none.
    struct panel_widths {
        const panel_loop *wide;
        std::int64_t columns; // of wide panels
        const panel_loop *narrow = nullptr;
    };
    packed_product(const problem &p, const constant_weights &w, const panel_widths &by);
    static panel_widths widths_for(const problem &p, const constant_weights &w, targets::features available);
    static bool takes_words(const problem &p, const panel_loop &by_bytes, const constant_weights &w);
    std::int64_t own_panels() const { return ceil_div(problem_.columns, loop_.columns); }
    void pack(const constant_weights &w, std::int8_t *to) const;
    void add_up();
    /// Whether the loop reads x with the other sign. Loops without vectors read it as it is, and add a compensation of
    /// 0.
    bool is_compensated() const { return problem_.x_is_signed != loop_.reads_signed; }

    problem problem_;
    panel_loop loop_;
    panel_product product_;
    std::shared_ptr<const std::byte> weights_;
    std::vector<std::int32_t> weight_sums_, compensation_, zero_points_; // zero_points_: for the loop, of padding too
    saturation_excess excess_;
    std::unique_ptr<const packed_product> narrower_; // of the columns behind these, in panels of one vector less
};

} // namespace dynquant::layers
