#include "model/layer_rescale.hpp"

#include <algorithm>

#include "lookup/lookup.hpp"
#include "model/activation_table.hpp"
#include "model/half_activation.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models {
namespace {

/// What is added to the sums: nothing, one value, or one for each channel.
std::vector<std::int32_t> bias_of(const layer &l, const std::vector<std::int32_t> &product_bias) {
    if (!l.bias) return product_bias;
    auto bias = values_of<std::int32_t>(*l.bias);
    if (product_bias.empty()) return bias;
    const auto of_layer = std::move(bias);
    bias = product_bias;
    for (std::size_t c = 0; c < bias.size(); ++c)
        bias[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[c])
                + static_cast<std::uint32_t>(of_layer[of_layer.size() == 1 ? 0 : c]));
    return bias;
}

/// All parameters of a rescaling, for one channel or for all.
rescale_parameters parameters_of(const layer &l, const std::vector<std::int32_t> &product_bias, std::size_t channels) {
    rescale_parameters p;
    p.bias = bias_of(l, product_bias);
    p.first = values_of<float>(*l.multipliers[0]);
    if (l.multipliers.size() > 1) p.second = values_of<float>(*l.multipliers[1]);
    p.relu = l.relu;
    const auto count = std::max({p.bias.size(), p.first.size(), p.second.size()}) > 1 ? channels : 1;
    const auto spread = [=](auto &values) {
        if (values.size() == 1) values.resize(count, values.front());
    };
    spread(p.bias);
    spread(p.first);
    spread(p.second);
    return p;
}

/// The statement: dims are batch, spatial, channels.
quantization statement_of(const rescale_parameters &p, const layer_shape &shape, onnx::element_type to) {
    const dims extents {shape.batch, shape.spatial, shape.channels};
    const auto block = p.first.size() > 1 ? per_channel(extents, 2) : per_tensor(extents);
    const auto parameter_of = [&](data_type type, const auto &values) {
        return parameter {type, block, {values.begin(), values.end()}};
    };
    quantization q;
    q.dir = direction::requantize;
    q.src = {data_type::s32, extents, {}};
    q.dst = {*onnx::data_type_of(to), extents, {}};
    if (!shape.y_is_channels_last) q.dst.strides = {shape.channels * shape.spatial, 1, shape.spatial};
    q.scales = parameter_of(data_type::f32, p.first);
    if (!p.second.empty()) q.second_scales = parameter_of(data_type::f32, p.second);
    if (!p.bias.empty()) q.bias = parameter_of(data_type::s32, p.bias);
    q.relu = p.relu;
    return q;
}

/// Verbose lines call it what the layer begins with.
options named(options given, const node &product) {
    if (given.name.empty()) given.name = label(product);
    return given;
}

std::span<const std::size_t> activation_nodes(const layer &l) {
    return std::span(l.nodes).last(l.activation);
}

/// To 8 bits, and by a table of 256 values.
class quantized final : public layer_rescale {
  public:
    quantized(const graph &g, const layer &l, const layer_shape &shape, const rescale_parameters &p, const settings &s)
        : requantize_(prepare(statement_of(p, shape, l.rescaled), named(s.kernel, g.nodes[l.nodes.front()])))
        , count_(shape.batch * shape.spatial * shape.channels)
        , threads_(s.kernel.threads) {
        if (l.activation == 0) return;
        look_up_ = lookup::function_for(std::min(best_isa(), s.kernel.max_isa.value_or(isa::avx512)));
        std::ranges::copy(table_of(g, activation_nodes(l), l.rescaled, s), values_.begin());
    }

    bool is_folded() const override { return requantize_.info().folded; }
    std::size_t scratch_bytes() const override { return 0; }

    void run(const std::int32_t *sums, std::uint8_t *y, std::byte *) const override {
        arguments args;
        args.src = sums;
        args.dst = y;
        requantize_.run(args);
        if (look_up_) lookup::look_up(look_up_, values_, y, y, count_, threads_);
    }

  private:
    operation requantize_;
    std::int64_t count_;
    int threads_;
    lookup::look_up_function look_up_ = nullptr;
    lookup::table values_ = {};
};

} // namespace

std::unique_ptr<const layer_rescale> make_layer_rescale(const graph &g, const layer &l, const layer_shape &shape,
        const std::vector<std::int32_t> &product_bias, const settings &s) {
    const auto p = parameters_of(l, product_bias, static_cast<std::size_t>(shape.channels));
    if (l.rescaled != onnx::type::float16) return std::make_unique<quantized>(g, l, shape, p, s);
    return std::make_unique<half_activation>(p, shape, table_of(g, activation_nodes(l), l.rescaled, s));
}

} // namespace dynquant::models
