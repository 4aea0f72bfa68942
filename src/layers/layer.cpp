#include "layers/layer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "layers/zero_points.hpp"
#include "parallel/parallel.hpp"
#include "quantization/one_multiplier.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const layer_description &d, dnnl_status_t status, const Parts &...parts) {
    throw error(status, concat(d.label, ": ", parts...));
}

/// Elements can be counted, and are fewer than any machine holds.
void check_size(const char *what, const dims &extents) {
    constexpr auto most = std::int64_t {1} << 44;
    if (volume(extents).value_or(most) >= most)
        throw error(dnnl_invalid_shape,
                concat(what, ": expected fewer than 2^44 elements, given shape ", to_string(extents)));
}

/// Makes one multiplier of the first two, where that changes no result. Returns whether it did.
bool fold_multipliers(layer_description &d) {
    using kind = float_step::kind;
    auto &steps = d.steps;
    if (d.has_x_scale || steps.size() < 3 || steps[0].what != kind::multiply || steps[1].what != kind::multiply)
        return false;
    const auto is_relu = [](const step &s) {
        return s.what == kind::clip && s.a == std::vector {0.0F}
        && s.b == std::vector {std::numeric_limits<float>::infinity()};
    };
    const std::size_t last = is_relu(steps[2]) ? 3 : 2;
    if (steps.size() != last + 1 || steps[last].what != kind::saturate) return false; // which makes bytes of them
    auto &first = steps[0].a;
    const auto &second = steps[1].a;
    if (!std::ranges::all_of(first, is_multiplier) || !std::ranges::all_of(second, is_shift)) return false;
    if (first.size() == 1) first.resize(second.size(), first.front());
    for (std::size_t c = 0; c < first.size(); ++c)
        first[c] *= second[second.size() == 1 ? 0 : c];
    steps.erase(steps.begin() + 1);
    return true;
}

} // namespace

layer_problem::layer_problem(layer_description given, const std::byte *weights)
    : description_(std::move(given))
    , is_folded_(fold_multipliers(description_)) {
    const auto &d = description_;
    const auto &w = d.weights_shape;
    auto &c = convolution_;
    c.x_is_signed = !d.prepare && d.x_is_signed;
    c.available = d.available;
    c.groups = d.groups;
    c.w_zero_points = d.w_zero_points;
    if (d.is_convolution) {
        c.filters = w[0];
        if (c.groups < 1 || c.filters % c.groups != 0 || c.groups > std::max<std::int64_t>(c.filters, 1))
            refuse(d, dnnl_invalid_shape, "group: expected a divisor of the ", c.filters, " filters, given ", c.groups);
        c.channels = w[1] * c.groups;
        c.window.kernel.assign(w.begin() + 2, w.end());
        c.window.dilations = d.window.dilations;
        c.window.strides = d.window.strides;
        c.is_planar = !d.x_is_channels_last && !d.y_is_channels_last;
        if (volume(c.window.kernel) == 0)
            refuse(d, dnnl_invalid_shape, "w: expected a window of at least one tap, given shape ", to_string(w));
    } else {
        c.channels = w[0];
        c.filters = w[1];
        c.window.kernel = {1};
    }
    if (c.w_zero_points.size() > 1 && std::ssize(c.w_zero_points) != c.filters)
        refuse(d, dnnl_invalid_shape, "w_zero_point: expected one value, or one for each of ", c.filters,
                " channels, given ", c.w_zero_points.size());
    auto packing = d.is_convolution ? constant_weights::of_filters(weights, w[1], *volume(c.window.kernel))
                                    : constant_weights::of_matrix(weights, c.filters);
    if (!d.w_is_signed) { // become int8, 128 less, and so do their zero points
        packing.flip = 0x80;
        if (c.w_zero_points.empty()) c.w_zero_points = {0};
        for (auto &value : c.w_zero_points)
            value -= 128;
    }
    packed_ = pack_convolution(c, packing);
}

layer::layer(const layer_problem &p, const dims &x)
    : d_(p.description())
    , x_(x)
    , y_is_channels_first_(d_.is_convolution && !d_.y_is_channels_last)
    , compute_steps_(float_steps_function_for(d_.available))
    , look_up_(lookup::function_for(d_.available)) {
    for (const auto &s : d_.steps)
        steps_.push_back({s.what, s.a, s.b, s.table});
    try {
        const auto c = d_.is_convolution ? plan_convolution(p.convolution()) : plan_product(p.convolution());
        if (volume(y_) == 0) return;
        sums_ = p.packed()(c);
    } catch (const dnnl::error &e) {
        refuse(d_, e.status, e.message);
    }
    permutes_ = permutes_ && !sums_->takes_planar();
    if (d_.x_zero_point) find_bias(sums_->weight_sums(), *d_.x_zero_point, d_.bias, bias_);
    if (d_.prepare) {
        quantization q;
        q.src = {data_type::f32, x, {}};
        q.dst = {data_type::u8, x, {}};
        q.scales = {data_type::f32, per_tensor(x), {}};
        q.zero_points = {data_type::u8, per_tensor(x), {}};
        q.rule = numerics::onnx;
        q.computed = presets::onnx(); // DynamicQuantizeLinear
        if (permutes_) {              // channels last
            q.dst.strides = row_major(x);
            std::int64_t stride = x[1];
            q.dst.strides[1] = 1;
            for (auto d = x.size(); d-- > 2; stride *= x[d])
                q.dst.strides[d] = stride;
            q.dst.strides[0] = stride;
        }
        quantize_ = d_.prepare(q);
    }
}

integer_convolution layer::plan_product(const integer_convolution &problem) {
    auto c = problem;
    if (x_.empty() || x_.back() != c.channels)
        throw error(dnnl_invalid_shape,
                concat("A: expected ", c.channels, " columns, as many as B has rows, given shape ", to_string(x_)));
    channels_ = c.filters;
    y_ = x_;
    y_.back() = channels_;
    check_size("Y", y_);
    if (volume(y_) == 0) return c;
    check_size("A", x_);
    positions_ = *volume(dims(x_.begin(), x_.end() - 1));
    c.batch = 1;
    c.window = {{positions_}, {positions_}, {1}, {1}, {1}, {0}, {0}}; // make_window() has a limit for two dimensions
    return c;
}

integer_convolution layer::plan_convolution(const integer_convolution &problem) {
    const auto &w = d_.weights_shape;
    auto c = problem;
    if (x_.size() != w.size())
        throw error(dnnl_invalid_shape,
                concat("x: expected rank ", w.size(), ", that of the weights, given shape ", to_string(x_)));
    if (c.channels != x_[1])
        throw error(dnnl_invalid_shape,
                concat("x: expected ", c.channels, " channels, those of ",
                        counted(static_cast<std::size_t>(c.groups), "group"), " of weights of shape ", to_string(w),
                        ", given shape ", to_string(x_)));
    const dims spatial(x_.begin() + 2, x_.end());
    c.batch = images_ = x_[0];
    c.window = make_window(d_.window, spatial, c.window.kernel);
    channels_ = c.filters;
    y_ = {images_, channels_};
    y_.insert(y_.end(), c.window.y.begin(), c.window.y.end());
    check_size("y", y_);
    if (volume(y_) == 0) return c;
    positions_ = *volume(c.window.y);
    dims padded;
    for (std::size_t d = 0; d < c.window.rank(); ++d)
        padded.push_back(c.window.padded(d));
    check_size("an image of x with its padding", padded); // which there may be without channels
    padded.insert(padded.begin(), {images_, c.channels});
    check_size("x with its padding", padded);
    permutes_ = !d_.x_is_channels_last && x_[1] > 1 && *volume(spatial) > 1;
    to_channels_last_ = to_channels_last(x_, 1);
    return c;
}

/// Under float_control, the factors of the first step times x_scale.
std::span<const float_step> layer::scaled_steps(float x_scale, run_memory &memory) const {
    if (!d_.has_x_scale) return steps_;
    const auto factors = steps_.front().a;
    auto *const scaled = run_memory::grown(memory.factors, factors.size());
    parallel::for_each_part(1, 1, [&](parallel::range) {
        std::ranges::transform(factors, scaled, [=](float factor) { return x_scale * factor; });
    });
    memory.steps.assign(steps_.begin(), steps_.end());
    memory.steps.front().a = {scaled, factors.size()};
    return memory.steps;
}

void layer::run(const layer_arguments &given, run_memory &memory) const {
    if (!sums_) return;
    const void *x = given.x;
    auto x_zero_point = d_.x_zero_point.value_or(given.x_zero_point);
    auto x_scale = given.x_scale;
    if (d_.prepare || permutes_) {
        auto *const bytes = run_memory::grown(memory.x, static_cast<std::size_t>(*volume(x_)));
        if (d_.prepare) {
            std::uint8_t zero_point = 0;
            x_scale = 0; // both stay where x has no elements
            arguments args;
            args.src = x;
            args.dst = bytes;
            args.computed_scales = &x_scale;
            args.computed_zero_points = &zero_point;
            quantize_.run(args);
            if (!d_.x_zero_point) x_zero_point = zero_point; // a product need not take it
        } else {
            to_channels_last_.run(x, bytes);
        }
        x = bytes;
    }
    if (!d_.x_zero_point) find_bias(sums_->weight_sums(), x_zero_point, d_.bias, memory.bias);
    const std::span<const std::int32_t> bias = d_.x_zero_point ? bias_ : memory.bias;
    const auto steps = scaled_steps(x_scale, memory);
    sums_->run_blocks(x, x_zero_point, memory, [&](const sums_block &block) {
        block.plane == 0 ? compute_steps(block, bias, steps, given.y) : compute_planes(block, bias, steps, given.y);
    });
}

/// Of blocks with all channels, image by image.
void layer::compute_steps(
        const sums_block &block, std::span<const std::int32_t> bias, std::span<const float_step> steps, void *y) const {
    const std::int64_t element = d_.result == step_result::bytes ? 1 : 4;
    const auto of_image = y_is_channels_first_ ? positions_ : images_ * positions_;
    const auto &positions = block.positions;
    for (auto begin = positions.begin; begin < positions.end;) {
        const auto image = begin / of_image, end = std::min(positions.end, (image + 1) * of_image);
        const auto in_image = begin - image * of_image;
        const auto at = image * of_image * channels_ + (y_is_channels_first_ ? in_image : in_image * channels_);
        const float_steps_call call {block.sums + (begin - positions.begin) * channels_, channels_,
                bias.empty() ? nullptr : bias.data(), steps, static_cast<std::byte *>(y) + at * element,
                y_is_channels_first_ ? 1 : channels_, y_is_channels_first_ ? positions_ : 1, d_.result};
        compute_steps_(call, 0, end - begin);
        if (d_.table) look_up(static_cast<std::uint8_t *>(y) + at, end - begin);
        begin = end;
    }
}

/// Channel by channel.
void layer::compute_planes(
        const sums_block &block, std::span<const std::int32_t> bias, std::span<const float_step> steps, void *y) const {
    const std::int64_t element = d_.result == step_result::bytes ? 1 : 4;
    const auto image = block.positions.begin / positions_, in_image = block.positions.begin % positions_;
    const auto count = block.positions.end - block.positions.begin;
    for (std::int64_t c = 0; c < block.channels; ++c) {
        const auto channel = block.first_channel + c;
        auto *const to =
                static_cast<std::byte *>(y) + ((image * channels_ + channel) * positions_ + in_image) * element;
        compute_steps_({block.sums + c * block.plane, count, bias.empty() ? nullptr : bias.data(), steps, to, count, 1,
                               d_.result, channel},
                0, 1);
        if (d_.table)
            look_up_(*d_.table, reinterpret_cast<std::uint8_t *>(to), reinterpret_cast<std::uint8_t *>(to), count);
    }
}

/// Of some positions of one image, y is where the first one lies.
void layer::look_up(std::uint8_t *y, std::int64_t positions) const {
    const auto rows = y_is_channels_first_ ? channels_ : 1;
    const auto length = y_is_channels_first_ ? positions : positions * channels_;
    for (std::int64_t row = 0; row < rows; ++row, y += positions_)
        look_up_(*d_.table, y, y, length);
}

} // namespace dynquant::layers
