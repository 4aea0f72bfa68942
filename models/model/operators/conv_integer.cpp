#include "layers/permute.hpp"
#include "layers/zero_points.hpp"
#include "model/operators/operators.hpp"
#include "model/operators/products.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// Transposes between ONNX's channels-first tensors and layers::integer_convolution's channels-last ones.
class conv_integer final : public stage {
  public:
    conv_integer(const op_node &n, const layers::integer_convolution &p)
        : convolution_(layers::make_convolution(p, weights_of(n)))
        , x_zero_point_(x_zero_point_of(n))
        , bias_(layers::zero_point_bias(convolution_->weight_sums(), x_zero_point_))
        , x_bytes_(static_cast<std::size_t>(*volume(n.shape(0))))
        , rows_(p.batch * *volume(p.window.y))
        , to_last_(layers::to_channels_last(n.shape(0), 1))
        , from_last_(layers::from_channels_last(infer_conv_integer(n).shape, sizeof(std::int32_t)))
        , y_bytes_(static_cast<std::size_t>(rows_ * p.filters) * sizeof(std::int32_t)) {}

    std::size_t scratch_bytes() const override {
        return aligned(x_bytes_) + aligned(y_bytes_) + convolution_->scratch_bytes();
    }

    void run(const stage_arguments &args) const override {
        auto *x = args.scratch, *y_begin = x + aligned(x_bytes_);
        auto *y = reinterpret_cast<std::int32_t *>(y_begin);
        to_last_.run(args.inputs[0], x);
        convolution_->run(x, x_zero_point_, y, y_begin + aligned(y_bytes_));
        layers::add_bias(bias_, rows_, y);
        from_last_.run(y, args.output);
    }

  private:
    static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

    std::unique_ptr<const layers::integer_sums> convolution_;
    std::int32_t x_zero_point_;
    std::vector<std::int32_t> bias_;
    std::size_t x_bytes_;
    std::int64_t rows_;
    layers::permutation to_last_, from_last_;
    std::size_t y_bytes_;
};

} // namespace

tensor_type infer_conv_integer(const op_node &n) {
    const auto p = plan_convolution(n);
    dims shape {p.batch, p.filters};
    shape.insert(shape.end(), p.window.y.begin(), p.window.y.end());
    return {onnx::type::int32, shape};
}

prepared_node prepare_conv_integer(const op_node &n, const settings &s) {
    auto p = plan_convolution(n);
    p.available = environment::usable_features(s.kernel.max_isa);
    if (p.batch == 0 || p.filters == 0) return {make_stage([](const stage_arguments &) {}), {0}};
    return {std::make_unique<conv_integer>(n, p), {0}};
}

} // namespace dynquant::models
