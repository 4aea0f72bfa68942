#include "layers/layer/layer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "layers/gemm/packed_product.hpp"
#include "layers/gemm/zero_points.hpp"
#include "layers/layer/one_multiplier.hpp"
#include "parallel/float_control.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const layer_description &d, dynquant::status status, const Parts &...parts) {
    throw error(status, concat(d.label, ": ", parts...));
}

/// Elements can be counted, and are fewer than any machine holds.
void check_size(const char *what, const dims &extents) {
    constexpr auto most = std::int64_t {1} << 44;
    if (volume(extents).value_or(most) >= most)
        throw error(status::invalid_shape,
                concat(what, ": expected fewer than 2^44 elements, given shape ", to_string(extents)));
}

/// Makes one multiplier of the first two, where that changes no result. Returns whether it did.
bool fold_multipliers(layer_description &d) {
    using kind = post_op_kind;
    auto &steps = d.post_ops;
    if (steps.size() < 3 || steps[0].what != kind::multiply || steps[1].what != kind::multiply) return false;
    const auto is_relu = [](const post_op &s) {
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

/// An empty tensor has no strides: its other extents may be of any size, and their product beyond 63 bits.
constant_weights row_major_weights(const layer_description &d, const std::byte *weights) {
    const auto &w = d.weights_shape;
    if (volume(w) == 0) return {};
    if (!d.is_convolution) return constant_weights::of_matrix(weights, w[1]);
    return constant_weights::of_filters(weights, w[1], volume(dims(w.begin() + 2, w.end())).value_or(0));
}

template <typename Vector>
void repeat(Vector &values, std::int64_t times) {
    const auto count = values.size();
    values.resize(count * static_cast<std::size_t>(times));
    for (auto i = count; i < values.size(); ++i)
        values[i] = values[i - count];
}

/// The strides of x channels last, in the order of its dimensions.
dims channels_last_strides(const dims &x) {
    dims strides(x.size(), 1);
    std::int64_t stride = x[1];
    for (auto d = x.size(); d-- > 2; stride *= x[d])
        strides[d] = stride;
    strides[0] = stride;
    return strides;
}

} // namespace

packed_layer::packed_layer(const layer_description &given, const std::byte *weights, targets::features available,
        std::optional<algorithm> only)
    : packed_layer(given, row_major_weights(given, weights), available, only) {}

packed_layer::packed_layer(layer_description given, const packed_layer &packed)
    : description_(std::move(given))
    , convolution_(packed.convolution_)
    , packed_(packed.packed_)
    , is_folded_(fold_multipliers(description_)) {}

integer_convolution convolution_of(const layer_description &d, targets::features available) {
    const auto &w = d.weights_shape;
    integer_convolution c;
    c.x_is_signed = !d.prepare && d.x_is_signed;
    c.available = available;
    c.groups = d.groups;
    c.w_zero_points = d.w_zero_points;
    if (d.is_convolution) {
        c.filters = w[0];
        if (c.groups < 1 || c.filters % c.groups != 0 || c.groups > std::max<std::int64_t>(c.filters, 1))
            refuse(d, status::invalid_shape, "group: expected a divisor of the ", c.filters, " filters, given ",
                    c.groups);
        c.window.kernel.assign(w.begin() + 2, w.end());
        if (volume(c.window.kernel) == 0)
            refuse(d, status::invalid_shape, "w: expected a window of at least one tap, given shape ", to_string(w));
        c.channels = w[1] * c.groups; // no more than there are weights, or 0, or of one group
        c.window.dilations = d.window.dilations;
        c.window.strides = d.window.strides;
        c.is_channels_first = !d.x_is_channels_last && !d.y_is_channels_last;
    } else {
        c.channels = w[0];
        c.filters = w[1];
        c.window.kernel = {1};
    }
    if (c.w_zero_points.size() > 1 && std::ssize(c.w_zero_points) != c.filters)
        refuse(d, status::invalid_shape, "w_zero_point: expected one value, or one for each of ", c.filters,
                " channels, given ", c.w_zero_points.size());
    if (d.w_is_signed || volume(w) == 0) return c;
    if (c.w_zero_points.empty()) c.w_zero_points = {0}; // they become int8, 128 less, as the weights do
    for (auto &value : c.w_zero_points)
        value -= 128;
    return c;
}

[[gnu::cold]] packed_layer::packed_layer(
        layer_description given, constant_weights weights, targets::features available, std::optional<algorithm> only)
    : description_(std::move(given))
    , convolution_(convolution_of(description_, available))
    , is_folded_(fold_multipliers(description_)) {
    convolution_.only = only;
    if (volume(description_.weights_shape) == 0) return; // the other extents may be of any size
    if (!description_.w_is_signed) weights.flip = 0x80;
    packed_ = pack_convolution(convolution_, weights);
}

aligned_post_ops::aligned_post_ops(std::span<const post_op> of, std::int64_t times) {
    for (const auto &s : of) {
        auto &a = values_.emplace_back(s.a.begin(), s.a.end());
        if (a.size() > 1) repeat(a, times);
        views_.push_back({s.what, a, s.b, s.table});
    }
}

std::unique_ptr<const accumulator_source> packed_layer::sums_of(const integer_convolution &c) const {
    return (packed_ ? packed_ : pack_convolution(c, {}))(c);
}

layer::layer(const packed_layer &p, const dims &x)
    : d_(p.description())
    , x_(x)
    , y_is_channels_first_(d_.is_convolution ? !d_.y_is_channels_last : d_.y_heads_are_transposed)
    , post_ops_(d_.post_ops)
    , epilogue_(*targets::pick(p.convolution().available, epilogue_table))
    , look_up_(lookup::function_for(p.convolution().available)) {
    try {
        const auto c = d_.is_convolution ? plan_convolution(p.convolution()) : plan_product(p.convolution());
        if (volume(y_) == 0) return;
        sums_ = p.sums_of(c);
    } catch (const error &e) {
        refuse(d_, e.status, e.what());
    }
    permutes_ = permutes_ && !sums_->takes_channels_first();
    plan_ending();
    join_positions();
    if (d_.x_zero_point || d_.scales_by_row) {
        fold_zero_point_into_bias(sums_->weight_sums(), d_.x_zero_point.value_or(0), d_.bias, bias_);
        repeat(bias_, joined_);
        pad(bias_);
    }
    if (!d_.prepare) return;
    if (d_.x_has_heads && d_.scales_by_row)
        quantizer_.emplace(d_.prepare, dims {x[0], x[2], x[1], x[3]}, rows(), dims {},
                dims {x[1] * x[2] * x[3], x[3], x[2] * x[3], 1});
    else
        quantizer_.emplace(d_.prepare, x, rows(), permutes_ ? channels_last_strides(x) : dims {});
    joins_heads_ = d_.x_has_heads && !d_.scales_by_row;
    if (joins_heads_) join_heads_ = {x, {0, 2, 1, 3}, 1};
}

void layer::plan_ending() {
    using kind = post_op_kind;
    if (d_.is_convolution || d_.scales_by_row || d_.normalization || !sums_->takes_endings()) return;
    if (y_is_channels_first_ || y_blocks_ > 1) return;
    const auto &steps = d_.post_ops;
    const bool has_factors = !steps.empty() && (steps[0].what == kind::scale || steps[0].what == kind::multiply);
    const bool has_summands = steps.size() > 1 && steps[1].what == kind::add;
    const std::size_t before_clip = has_summands ? 2 : 1;
    const bool is_clipped = steps.size() > before_clip && steps[before_clip].what == kind::clip;
    const bool are_floats =
            d_.result == result_type::f32 && has_factors && steps.size() == before_clip + (is_clipped ? 1 : 0);
    is_written_at_once_ = d_.result == result_type::s32 || are_floats;
    if (!are_floats) return;
    const auto count = static_cast<std::size_t>(channels_ + packed_product::padding_columns);
    const auto by_channel = [&](const std::vector<float> &values) {
        auto result = values;
        if (values.size() == 1) result.assign(static_cast<std::size_t>(channels_), values.front());
        result.resize(count);
        return result;
    };
    factors_ = by_channel(steps[0].a);
    summands_ = by_channel(has_summands ? steps[1].a : std::vector {-0.0F}); // x + -0 is x
    if (is_clipped) clip_ = {steps[before_clip].a.front(), steps[before_clip].b.front()};
}

sums_ending layer::ending_for(const parameters &of_x, std::vector<float> &memory) const {
    sums_ending ending {of_x.bias.data()};
    if (factors_.empty()) return ending;
    ending.factors = factors_.data();
    ending.summands = summands_.data();
    if (clip_) std::tie(ending.lower, ending.upper) = *clip_;
    if (d_.post_ops.front().what != post_op_kind::scale) return ending;
    const parallel::float_control control;
    auto *const factors = workspace::ensure_size(memory, factors_.size());
    multiply(factors_, of_x.scales.front(), factors);
    ending.factors = factors;
    return ending;
}

void layer::join_positions() {
    const auto count = epilogue::positions_that_fill_tiles(channels_);
    const bool is_worth = images_ * positions_ >= 4 * count; // each run makes the bias anew
    if (y_is_channels_first_ || y_blocks_ > 1 || count == 1 || !is_worth) return;
    if (has_scales_by_position() && channels_ == 1) return; // 16 rows in 16 channels: see epilogue::rows_behind
    joined_ = count;
    if (const auto &sums = sums_->weight_sums(); d_.scales_by_row) joined_weight_sums_.assign(sums.begin(), sums.end());
    repeat(joined_weight_sums_, joined_);
    for (std::int64_t c = 0; has_scales_by_position() && c < joined_ * channels_; ++c) {
        if (c % 16 == 0) first_rows_.push_back(c / channels_);
        rows_behind_.push_back(static_cast<std::int32_t>(c / channels_ - first_rows_.back()));
    }
    joined_post_ops_ = aligned_post_ops(d_.post_ops, joined_);
}

void layer::pad(std::vector<std::int32_t> &bias) const {
    // Where there is no bias it becomes zeros, also of positions that the epilogue joins.
    if (is_written_at_once_)
        bias.resize(static_cast<std::size_t>(joined_ * channels_ + packed_product::padding_columns));
}

std::int64_t layer::rows() const {
    if (!d_.scales_by_row) return 1;
    if (d_.x_has_heads) return x_[0] * x_[2];
    return d_.is_convolution ? x_.front() : *volume(dims(x_.begin(), x_.end() - 1));
}

integer_convolution layer::plan_product(const integer_convolution &problem) {
    auto c = problem;
    if (d_.x_has_heads && x_.size() != 4)
        throw error(status::invalid_shape,
                concat("A: expected batch, heads, rows and columns of a head, given shape ", to_string(x_)));
    const bool fits = d_.x_has_heads ? volume({x_[1], x_[3]}) == c.channels : !x_.empty() && x_.back() == c.channels;
    if (!fits)
        throw error(status::invalid_shape,
                concat("A: expected ", c.channels, " columns, as many as B has rows, given ",
                        d_.x_has_heads ? "heads of " : "", "shape ", to_string(x_)));
    channels_ = c.filters;
    y_ = x_;
    if (d_.x_has_heads) y_ = {x_[0], x_[2], channels_};
    y_.back() = channels_;
    check_size("Y", y_);
    const auto rows = volume(dims(y_.begin(), y_.end() - 1));
    if (d_.y_heads > 0) split_heads();
    if (volume(y_) == 0) return c;
    check_size("A", x_);
    positions_ = *rows / images_;
    c.batch = 1;
    c.window = window_of_products(*rows);
    return c;
}

/// y_: of the product.
void layer::split_heads() {
    if (y_.size() != 3)
        throw error(status::invalid_shape, concat("Y: expected batch, rows and columns, given shape ", to_string(y_)));
    images_ = y_[0];
    const auto size = channels_ / d_.y_heads;
    if (d_.y_heads_are_transposed) {
        y_ = {images_, d_.y_heads, size, y_[1]};
    } else {
        y_blocks_ = d_.y_heads;
        y_ = {images_, d_.y_heads, y_[1], size};
    }
}

integer_convolution layer::plan_convolution(const integer_convolution &problem) {
    const auto &w = d_.weights_shape;
    auto c = problem;
    if (x_.size() != w.size())
        throw error(status::invalid_shape,
                concat("x: expected rank ", w.size(), ", that of the weights, given shape ", to_string(x_)));
    if (c.channels != x_[1])
        throw error(status::invalid_shape,
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
    if (c.channels == 0) { // sums of nothing, whatever the groups and the window are
        c.groups = 1;
        c.window = window_of_products(positions_);
    }
    return c;
}

void layer::run(const layer_arguments &given, workspace &memory) const {
    if (!sums_) return;
    const void *x = given.x;
    parameters of_x {given.x_zero_points, bias_, given.x_scales};
    if (quantizer_) {
        quantizer_->run(x, memory.x);
        x = memory.x.bytes.data();
        if (joins_heads_) {
            auto *const bytes = workspace::ensure_size(memory.joined, static_cast<std::size_t>(*volume(x_)));
            join_heads_.run(x, bytes);
            x = bytes;
        }
        const auto count = static_cast<std::size_t>(quantizer_->rows());
        of_x.zero_points = {memory.x.zero_points.data(), count};
        of_x.scales = {memory.x.scales.data(), count};
    } else if (permutes_) {
        auto *const bytes = workspace::ensure_size(memory.x.bytes, static_cast<std::size_t>(*volume(x_)));
        to_channels_last_.run(x, bytes);
        x = bytes;
    }
    if (d_.x_zero_point) { // a product need not take what x was quantized by
        of_x.zero_points = {&*d_.x_zero_point, 1};
    } else if (!d_.scales_by_row) {
        fold_zero_point_into_bias(sums_->weight_sums(), of_x.zero_points.front(), d_.bias, memory.bias);
        repeat(memory.bias, joined_);
        pad(memory.bias);
        of_x.bias = memory.bias;
    }
    if (is_written_at_once_)
        return sums_->write(
                x, of_x.zero_points, memory, ending_for(of_x, memory.factors), static_cast<std::int32_t *>(given.y));
    sums_->for_each_block(x, of_x.zero_points, memory, [&](const accumulator_block &block) {
        block.plane == 0 ? finish_rows(block, of_x, given) : finish_planes(block, of_x, given);
    });
}

/// What the positions of an image pass, from in_image on.
epilogue layer::epilogue_for(const parameters &of_x, std::int64_t image, std::int64_t in_image) const {
    epilogue by {post_ops_.views(), d_.result, of_x.bias.empty() ? nullptr : of_x.bias.data(), of_x.scales.data()};
    if (!d_.scales_by_row) return by;
    const auto row = d_.is_convolution ? image : image * positions_ + in_image;
    by.row_stride = has_scales_by_position() ? 1 : 0;
    if (!of_x.scales.empty()) by.x_scales += row;
    if (d_.x_zero_point) return by;
    by.x_zero_points = of_x.zero_points.data() + row;
    by.weight_sums = sums_->weight_sums().data();
    return by;
}

/// Computes blocks that have all channels, image by image.
void layer::finish_rows(const accumulator_block &block, const parameters &of_x, const layer_arguments &given) const {
    const std::int64_t element = d_.result == result_type::bytes ? 1 : 4;
    const bool by_image = y_is_channels_first_ || y_blocks_ > 1 || (d_.scales_by_row && d_.is_convolution);
    const auto width = channels_ / y_blocks_; // of a block
    const auto of_image = by_image ? positions_ : images_ * positions_;
    const auto &positions = block.positions;
    void *const to = given.before ? given.before : given.y;
    for (auto begin = positions.begin; begin < positions.end;) {
        const auto image = begin / of_image, end = std::min(positions.end, (image + 1) * of_image);
        const auto in_image = begin - image * of_image;
        const auto at = image * of_image * channels_ + (y_is_channels_first_ ? in_image : in_image * width);
        const rows_of_sums rows {block.sums + (begin - positions.begin) * channels_, false, channels_,
                static_cast<std::byte *>(to) + at * element, y_is_channels_first_ ? 1 : width,
                y_is_channels_first_ ? positions_ : 1, given.tensor ? given.tensor + at : nullptr};
        auto by = epilogue_for(of_x, image, in_image);
        // Behind the rows that are joined, the epilogue may read the scales of seven more.
        const auto joinable = has_scales_by_position() ? std::min(end, positions_ - 7) : end;
        const auto joined = joined_ == 1 ? 0 : std::max(joinable - begin, std::int64_t {0}) / joined_;
        for (std::int64_t first = 0; first < channels_; first += width) {
            auto of_block = rows;
            of_block.y = static_cast<std::byte *>(rows.y) + first * (positions_ - 1) * element;
            epilogue_.rows(by, of_block, {joined * joined_, end - begin}, {first, first + width});
        }
        if (joined > 0) {
            by.post_ops = joined_post_ops_.views();
            if (by.weight_sums) by.weight_sums = joined_weight_sums_.data();
            if (has_scales_by_position()) {
                by.row_stride = joined_;
                by.first_rows = first_rows_.data();
                if (channels_ % 16 != 0) by.rows_behind = rows_behind_.data();
            }
            const auto all = joined_ * channels_;
            epilogue_.rows(by, {rows.sums, false, all, rows.y, all, 1, rows.tensor}, {0, joined}, {0, all});
        }
        if (d_.table) look_up(static_cast<std::uint8_t *>(given.y) + at, channels_, end - begin);
        if (d_.normalization)
            epilogue_.normalize(d_.normalization->view(), static_cast<const float *>(to) + at,
                    static_cast<float *>(given.y) + at, end - begin, channels_);
        begin = end;
    }
}

void layer::finish_planes(const accumulator_block &block, const parameters &of_x, const layer_arguments &given) const {
    const std::int64_t element = d_.result == result_type::bytes ? 1 : 4;
    const auto image = block.positions.begin / positions_, in_image = block.positions.begin % positions_;
    const auto count = block.positions.end - block.positions.begin;
    const auto at = (image * channels_ + block.first_channel) * positions_ + in_image;
    epilogue_.planes(epilogue_for(of_x, image, in_image),
            {block.sums, false, block.plane, block.first_channel, block.channels, count,
                    static_cast<std::byte *>(given.y) + at * element, positions_,
                    given.tensor ? given.tensor + at : nullptr});
    if (d_.table) look_up(static_cast<std::uint8_t *>(given.y) + at, block.channels, count);
}

/// Looks up some positions of one image in some channels; y is where the first one lies.
void layer::look_up(std::uint8_t *y, std::int64_t channels, std::int64_t positions) const {
    const auto rows = y_is_channels_first_ ? channels : 1;
    const auto length = y_is_channels_first_ ? positions : positions * channels;
    for (std::int64_t row = 0; row < rows; ++row, y += positions_)
        look_up_(*d_.table, y, y, length);
}

} // namespace dynquant::layers
