// Matrix products with constant int8 weights, as ONNX's MatMulInteger defines them: exact, in s32, which wraps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/integer_sums.hpp"
#include "quantization/environment.hpp"

namespace dynquant::layers {

class product_slice;

/// y[m][n] = sum over k of x[m][k] (w[k][n] - w_zero_points[n]).
/// The constructor packs the weights.
class integer_product final : public integer_sums {
  public:
    struct problem {
        bool x_is_signed = false; // s8, else u8
        std::int64_t rows = 0, inner = 0, columns = 0;
        std::vector<std::int32_t> w_zero_points = {}; // none, one, or one for each column
        targets::features available = environment::usable_features();
    };

    /// w is row-major and copied.
    integer_product(const problem &p, const std::int8_t *w);
    ~integer_product() override;

    const std::vector<std::int32_t> &weight_sums() const override { return weight_sums_; }
    std::size_t scratch_bytes() const override;
    /// x and y are row-major. No product pads x, so its zero point makes no difference.
    void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *scratch) const override;

  private:
    /// A product over `inner` elements of the inner dimension, from `begin` on.
    struct placed_slice {
        std::int64_t begin, inner;
        std::unique_ptr<const product_slice> slice;
    };

    static std::vector<placed_slice> onednn_slices(const problem &p, const std::int8_t *w);
    std::size_t sums_bytes() const;
    void run_slices(const std::byte *x, std::int32_t *y, std::byte *scratch) const;
    void copy_columns(const std::byte *x, const placed_slice &of, std::byte *to) const;

    problem problem_;
    std::vector<std::int32_t> weight_sums_;
    std::vector<placed_slice> slices_; // their sums are added
};

} // namespace dynquant::layers
