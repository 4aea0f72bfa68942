#include "model/layer_product.hpp"

#include <algorithm>

#include "model/operators/products.hpp"
#include "model/permute.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// MatMulInteger with one matrix of weights.
class matrix final : public layer_product {
  public:
    matrix(const matmul_plan &plan, const std::int8_t *w)
        : product_(plan.problem, w) {}

    const std::vector<std::int32_t> &bias() const override { return product_.bias(); }
    std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
    void run(const void *x, std::int32_t *y, std::byte *scratch) const override { product_.run(x, y, scratch); }

  private:
    integer_product product_;
};

/// ConvInteger of x as it lies in ONNX, or with the channels last.
class convolution final : public layer_product {
  public:
    convolution(const op_node &n, bool x_is_channels_last)
        : convolution_(integer_convolution::make(plan_convolution(n), weights_of(n))) {
        if (x_is_channels_last) return;
        to_last_ = to_channels_last(n.shape(0), 1);
        x_bytes_ = (static_cast<std::size_t>(*volume(n.shape(0))) + 63) / 64 * 64;
    }

    const std::vector<std::int32_t> &bias() const override { return convolution_->bias(); }
    std::size_t scratch_bytes() const override { return x_bytes_ + convolution_->scratch_bytes(); }

    void run(const void *x, std::int32_t *y, std::byte *scratch) const override {
        if (to_last_) to_last_->run(x, scratch);
        convolution_->run(to_last_ ? scratch : x, y, scratch + x_bytes_);
    }

  private:
    std::unique_ptr<const integer_convolution> convolution_;
    std::optional<permutation> to_last_;
    std::size_t x_bytes_ = 0; // of x turned, in whole cache lines
};

/// The node by itself, with all that is to be added: MatMulInteger with several matrices of weights.
class plain final : public layer_product {
  public:
    plain(const op_node &n, const settings &s)
        : work_(n.schema.prepare(n, s).work) {}

    const std::vector<std::int32_t> &bias() const override { return none_; }
    std::size_t scratch_bytes() const override { return work_->scratch_bytes(); }
    void run(const void *x, std::int32_t *y, std::byte *scratch) const override {
        work_->run({std::span(&x, 1), y, scratch});
    }

  private:
    std::unique_ptr<const stage> work_;
    std::vector<std::int32_t> none_;
};

/// The largest magnitude of x - zero point.
std::int64_t largest_difference(bool is_signed, std::int64_t zero_point) {
    const std::int64_t lowest = is_signed ? -128 : 0, highest = is_signed ? 127 : 255;
    return std::max(highest - zero_point, zero_point - lowest);
}

template <typename Problem>
std::int64_t bound(const Problem &p, std::int64_t products) {
    std::int64_t w = 128;
    for (const auto zero_point : p.w_zero_points)
        w = std::max(w, largest_difference(true, zero_point));
    return products * largest_difference(p.x_is_signed, p.x_zero_point) * w;
}

} // namespace

std::unique_ptr<const layer_product> make_layer_product(const op_node &n, bool x_is_channels_last, const settings &s) {
    if (n.given.op_type == "ConvInteger") return std::make_unique<convolution>(n, x_is_channels_last);
    const auto plan = plan_matmul(n);
    if (plan.w_at.size() == 1) return std::make_unique<matrix>(plan, weights_of(n));
    return std::make_unique<plain>(n, s);
}

std::int64_t bound_of_sums(const op_node &n) {
    if (n.given.op_type != "ConvInteger") {
        const auto p = plan_matmul(n).problem;
        return bound(p, p.inner);
    }
    const auto p = plan_convolution(n);
    return bound(p, p.channels / p.groups * *volume(p.over.kernel));
}

} // namespace dynquant::models
