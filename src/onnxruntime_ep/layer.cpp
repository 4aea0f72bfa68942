#include "onnxruntime_ep/layer.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.hpp"
#include "layers/integer_convolution.hpp"
#include "layers/integer_product.hpp"
#include "onnx/element_type.hpp"
#include "onnx/extremes.hpp"
#include "onnx/operation.hpp"
#include "parallel/parallel.hpp"
#include "quantization/isa.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime_ep {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const layer_problem &p, dnnl_status_t status, const Parts &...parts) {
    throw error(status, concat(p.label, ": ", parts...));
}

constexpr std::size_t cache_lines(std::int64_t bytes) {
    return (static_cast<std::size_t>(bytes) + 63) / 64;
}

std::vector<std::int32_t> integers_of(const constant &c) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < *volume(c.shape); ++i)
        values.push_back(c.type == onnx::type::int8 ? static_cast<std::int8_t>(c.data[i])
                                                    : std::to_integer<std::int32_t>(c.data[i]));
    return values;
}

/// Elements of y and of x with its padding can be counted, and are fewer than any machine holds.
void check_sizes(const layers::integer_convolution &c) {
    dims y {c.batch, c.filters}, padded {c.batch, c.channels};
    for (std::size_t d = 0; d < c.window.rank(); ++d) {
        y.push_back(c.window.y[d]);
        padded.push_back(c.window.padded(d));
    }
    constexpr auto most = std::int64_t {1} << 44;
    for (const auto &extents : {y, padded})
        if (volume(extents).value_or(most) >= most)
            throw error(dnnl_invalid_shape, concat("expected a size that can be, given ", to_string(extents)));
}

} // namespace

layer_problem problem_of(const graph &g, const layer_match &m) {
    const auto &n = g.nodes[m.product];
    layer_problem p;
    p.label = concat("node '", n.name, "' (", n.op_type, ")");
    p.is_convolution = n.is("ConvInteger");
    p.quantizes_x = m.quantize != none;
    p.x_is_signed = g.input(n, 0).type == onnx::type::int8;
    p.has_x_zero_point = m.x_zero_point != none;
    p.to_float = m.to_float;
    p.has_x_scale = m.x_scale != none;
    p.steps = m.steps;

    const auto &w = *g.input(n, 1).known;
    p.weights_shape = w.shape;
    p.weights.resize(static_cast<std::size_t>(*volume(w.shape)));
    if (!p.weights.empty()) std::memcpy(p.weights.data(), w.data, p.weights.size());
    if (n.has(3)) p.w_zero_points = integers_of(*g.input(n, 3).known);
    const auto channels = p.is_convolution ? w.shape.front() : w.shape.back();
    if (n.has(3) && p.w_zero_points.size() != 1 && std::ssize(p.w_zero_points) != channels)
        refuse(p, dnnl_invalid_shape, "w_zero_point: expected one value, or one for each of ", channels,
                " channels, given ", p.w_zero_points.size());
    if (w.type == onnx::type::uint8) {
        if (p.w_zero_points.empty()) p.w_zero_points = {0};
        for (auto &value : p.w_zero_points)
            value -= 128;
        for (auto &value : p.weights)
            value = static_cast<std::int8_t>(static_cast<std::uint8_t>(value) ^ 0x80);
    }

    p.groups = n.get("group", std::int64_t {1});
    using integers = std::vector<std::int64_t>;
    p.window.auto_pad = n.get("auto_pad", std::string("NOTSET"));
    p.window.dilations = n.get("dilations", integers {});
    p.window.kernel_shape = n.get("kernel_shape", integers {});
    p.window.pads = n.get("pads", integers {});
    p.window.strides = n.get("strides", integers {});
    return p;
}

layer::layer(const layer_problem &p, const dims &x)
    : p_(p)
    , x_(x)
    , extremes_(onnx::extremes_function_for(best_isa()))
    , steps_(layers::float_steps_function_for(best_isa())) {
    try {
        p.is_convolution ? plan_convolution() : plan_product();
    } catch (const dnnl::error &e) {
        refuse(p, e.status, e.message);
    }
    if (!sums_) return;
    fuses_ = p.to_float && sums_->computes_blocks();
    if (!fuses_) sums_bytes_ = cache_lines(images_ * positions_ * channels_ * 4) * 64;
    x_bytes_ = cache_lines(*volume(x)) * 64;
    if (p.quantizes_x) {
        quantization q;
        q.src = {data_type::f32, x, {}};
        q.dst = {data_type::u8, x, {}};
        q.scales = {data_type::f32, per_tensor(x), {}};
        q.zero_points = {data_type::u8, per_tensor(x), {}};
        q.rule = numerics::onnx;
        if (permutes_) { // channels last
            q.dst.strides = row_major(x);
            std::int64_t stride = x[1];
            q.dst.strides[1] = 1;
            for (auto d = x.size(); d-- > 2; stride *= x[d])
                q.dst.strides[d] = stride;
            q.dst.strides[0] = stride;
        }
        quantize_ = kernels::prepare(q, {}, kernels::own_kernels());
    }
}

void layer::plan_product() {
    const auto inner = p_.weights_shape[0];
    channels_ = p_.weights_shape[1];
    if (x_.empty() || x_.back() != inner)
        throw error(dnnl_invalid_shape,
                concat("A: expected ", inner, " columns, as many as B has rows, given shape ", to_string(x_)));
    y_ = x_;
    y_.back() = channels_;
    const dims rows(x_.begin(), x_.end() - 1);
    positions_ = *volume(rows);
    if (positions_ * channels_ == 0) return;
    sums_ = std::make_unique<layers::integer_product>(
            layers::integer_product::problem {
                    !p_.quantizes_x && p_.x_is_signed, positions_, inner, channels_, p_.w_zero_points},
            p_.weights.data());
}

void layer::plan_convolution() {
    const auto &w = p_.weights_shape;
    if (x_.size() != w.size())
        throw error(dnnl_invalid_shape,
                concat("x: expected rank ", w.size(), ", that of the weights, given shape ", to_string(x_)));
    if (p_.groups < 1 || w[0] % p_.groups != 0 || w[1] * p_.groups != x_[1])
        throw error(dnnl_invalid_shape,
                concat("x: expected ", w[1] * p_.groups, " channels, those of ", p_.groups,
                        " groups of weights of shape ", to_string(w), ", given shape ", to_string(x_)));
    const dims spatial(x_.begin() + 2, x_.end());
    layers::integer_convolution c {!p_.quantizes_x && p_.x_is_signed, x_[0], p_.groups, x_[1], w[0],
            layers::make_window(p_.window, spatial, {w.begin() + 2, w.end()}), p_.has_x_zero_point, p_.w_zero_points};
    check_sizes(c);
    images_ = x_[0];
    channels_ = w[0];
    positions_ = *volume(c.window.y);
    y_ = {images_, channels_};
    y_.insert(y_.end(), c.window.y.begin(), c.window.y.end());
    if (images_ * positions_ * channels_ == 0) return;
    permutes_ = x_[1] > 1 && *volume(spatial) > 1;
    to_channels_last_ = layers::to_channels_last(x_, 1);
    from_channels_last_ = layers::from_channels_last(y_, sizeof(std::int32_t));
    sums_ = layers::make_convolution(c, p_.weights.data());
}

std::unique_ptr<layer::workspace> layer::make_workspace() const {
    auto w = std::make_unique<workspace>();
    w->bytes.resize((x_bytes_ + sums_bytes_) / 64 + cache_lines(static_cast<std::int64_t>(sums_->scratch_bytes())));
    for (const auto &s : p_.steps)
        w->steps.push_back({s.what, s.a, s.b});
    if (p_.has_x_scale) {
        w->factors.resize(p_.steps.front().a.size());
        w->steps.front().a = w->factors;
    }
    return w;
}

void layer::run(const void *x, std::int32_t x_zero_point, float x_scale, void *y) const {
    if (!sums_) return;
    auto w = idle_.take([this] { return make_workspace(); });
    auto *const bytes = reinterpret_cast<std::byte *>(w->bytes.data());
    auto *const sums = reinterpret_cast<std::int32_t *>(bytes + x_bytes_);
    auto *const rest = bytes + x_bytes_ + sums_bytes_;
    const void *from = x;
    if (p_.quantizes_x) {
        const auto [scale, zero_point] =
                onnx::compute_parameters(onnx::find_extremes(extremes_, static_cast<const float *>(x), *volume(x_), 0));
        arguments args;
        args.src = x;
        args.scales = &scale;
        args.zero_points = &zero_point;
        args.dst = bytes;
        quantize_.run(args);
        x_scale = scale;
        x_zero_point = p_.has_x_zero_point ? zero_point : 0; // a product need not take it
        from = bytes;
    } else if (permutes_) {
        to_channels_last_.run(x, bytes);
        from = bytes;
    }
    const auto bias = layers::zero_point_bias(sums_->weight_sums(), x_zero_point);
    if (p_.has_x_scale)
        parallel::for_each_part(1, 1, [&](parallel::range) { // under float_control
            std::ranges::transform(
                    p_.steps.front().a, w->factors.begin(), [=](float factor) { return x_scale * factor; });
        });
    const auto rows = images_ * positions_;
    const auto compute = [&](parallel::range part, const std::int32_t *block) {
        compute_steps(*w, block, part, bias, static_cast<float *>(y));
    };
    if (fuses_) {
        sums_->run_blocks(from, x_zero_point, compute);
    } else {
        sums_->run(from, x_zero_point, sums, rest);
        if (p_.to_float)
            parallel::for_each_part(rows, parallel::parts_for_items(rows, rows * channels_),
                    [&](parallel::range part) { compute(part, sums + part.begin * channels_); });
        else
            compute_sums(sums, bias, y);
    }
    idle_.give_back(std::move(w));
}

void layer::compute_steps(const workspace &w, const std::int32_t *sums, parallel::range positions,
        std::span<const std::int32_t> bias, float *y) const {
    for (auto begin = positions.begin; begin < positions.end;) { // image by image
        const auto image = begin / positions_, end = std::min(positions.end, (image + 1) * positions_);
        layers::float_steps_call call {sums + (begin - positions.begin) * channels_, channels_,
                bias.empty() ? nullptr : bias.data(), w.steps, y + begin * channels_, channels_, 1};
        if (p_.is_convolution) {
            call.y = y + image * positions_ * channels_ + (begin - image * positions_);
            call.position_stride = 1;
            call.channel_stride = positions_;
        }
        steps_(call, 0, end - begin);
        begin = end;
    }
}

void layer::compute_sums(std::int32_t *sums, std::span<const std::int32_t> bias, void *y) const {
    const auto rows = images_ * positions_;
    layers::add_bias(bias, rows, sums);
    if (p_.is_convolution)
        from_channels_last_.run(sums, y);
    else
        std::memcpy(y, sums, static_cast<std::size_t>(rows * channels_) * sizeof *sums);
}

} // namespace dynquant::onnxruntime_ep
