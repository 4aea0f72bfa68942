#include "layers/layer_rescale.hpp"

#include <utility>

namespace dynquant::layers {
namespace {

class requantize_rescale final : public layer_rescale {
  public:
    requantize_rescale(operation requantize, std::int64_t count, const std::optional<activation> &then)
        : requantize_(std::move(requantize))
        , count_(count)
        , then_(then) {}

    bool is_folded() const override { return requantize_.info().folded; }
    std::size_t scratch_bytes() const override { return 0; }

    void run(const std::int32_t *sums, std::uint8_t *y, std::byte *) const override {
        arguments args;
        args.src = sums;
        args.dst = y;
        requantize_.run(args);
        if (then_) lookup::look_up(then_->look_up, then_->values, y, y, count_, then_->threads);
    }

  private:
    operation requantize_;
    std::int64_t count_;
    std::optional<activation> then_;
};

} // namespace

quantization requantize_statement(const rescale_parameters &p, const layer_shape &shape, data_type to) {
    const dims extents {shape.batch, shape.spatial, shape.channels};
    const auto block = p.first.size() > 1 ? per_channel(extents, 2) : per_tensor(extents);
    const auto parameter_of = [&](data_type type, const auto &values) {
        return parameter {type, block, {values.begin(), values.end()}};
    };
    quantization q;
    q.dir = direction::requantize;
    q.src = {data_type::s32, extents, {}};
    q.dst = {to, extents, {}};
    if (!shape.y_is_channels_last) q.dst.strides = {shape.channels * shape.spatial, 1, shape.spatial};
    q.scales = parameter_of(data_type::f32, p.first);
    if (!p.second.empty()) q.second_scales = parameter_of(data_type::f32, p.second);
    if (!p.bias.empty()) q.bias = parameter_of(data_type::s32, p.bias);
    q.relu = p.relu;
    return q;
}

std::unique_ptr<const layer_rescale> make_requantize_rescale(
        operation requantize, std::int64_t count, const std::optional<activation> &then) {
    return std::make_unique<requantize_rescale>(std::move(requantize), count, then);
}

} // namespace dynquant::layers
