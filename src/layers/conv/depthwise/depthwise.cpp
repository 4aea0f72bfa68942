#include "layers/conv/depthwise/depthwise.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {
namespace {

using zero_points = std::span<const std::int32_t>;

std::int64_t lanes_of(const integer_convolution &p) {
    return round_up(p.channels, min_quad_channels);
}

std::int64_t tap_count(const integer_convolution &p) {
    return *volume(p.window.kernel);
}

/// A tap's weight less its zero point, of -255 to 255.
std::int32_t weight_at(
        const integer_convolution &p, const constant_weights &w, std::int64_t channel, std::int64_t tap) {
    return w.at(channel, 0, tap) - p.w_zero_point(channel);
}

struct depthwise_weights {
    depthwise_weights(const integer_convolution &p, depthwise_function quads, const constant_weights &w)
        : compute(quads ? quads : *targets::pick(p.available, pairs_table)) {
        for (std::int64_t c = 0; c < p.channels; ++c) {
            sums.push_back(0);
            for (std::int64_t t = 0; t < tap_count(p); ++t)
                sums.back() += weight_at(p, w, c, t);
        }
        before.resize(static_cast<std::size_t>(lanes_of(p)));
        quads ? take(depthwise_quads(p, w)) : take(depthwise_pairs(p, w));
    }

    std::vector<std::size_t> taps;
    aligned_vector<std::byte> weights;
    std::int64_t at_once = 0; // taps
    depthwise_function compute;
    std::vector<std::int32_t> sums; // of each channel
    /// Prefix sums: each lane's sum of the weights before each pair or quad of taps, and before the end.
    std::vector<std::int32_t> before;

  private:
    template <typename Weight>
    void take(const depthwise_layout<Weight> &layout) {
        taps = layout.taps;
        const auto bytes = std::as_bytes(std::span(layout.weights));
        weights.assign(bytes.begin(), bytes.end());
        constexpr std::size_t of_lane = 4 / sizeof(Weight);
        at_once = of_lane;
        for (std::size_t at = 0; at < layout.weights.size(); at += of_lane)
            before.push_back(std::accumulate(
                    layout.weights.data() + at, layout.weights.data() + at + of_lane, before[at / of_lane]));
    }
};

/// Some lines at once.
class depthwise_convolution final : public accumulator_source {
  public:
    depthwise_convolution(const integer_convolution &p, std::shared_ptr<const depthwise_weights> w)
        : p_(p)
        , w_(std::move(w))
        , taps_(tap_count(p))
        , last_(p.window.rank() - 1)
        , interior_(p.window.interior()) {}

    const std::vector<std::int32_t> &weight_sums() const override { return w_->sums; }

    /// Lines of all images.
    void for_each_block(const void *x, zero_points of_x, workspace &memory, block_consumer consume) const override {
        const auto count = p_.batch * lines(), image_bytes = *volume(p_.window.x) * p_.channels;
        const auto parts = parallel::parts_for_items(count, count * columns() * p_.channels * (taps_ / 4 + 1));
        prepare(memory, parts);
        parallel::for_each_part(count, parts, [&](parallel::range part, std::size_t index) {
            auto &work = memory.parts[index];
            for (auto begin = part.begin; begin < part.end; begin += block_lines()) {
                const auto end = std::min(part.end, begin + block_lines());
                for (auto line = begin; line < end; ++line) {
                    const auto image = line / lines();
                    compute_line(work, static_cast<const std::byte *>(x) + image * image_bytes,
                            zero_point_of(of_x, image), line % lines(),
                            work.sums.data() + (line - begin) * columns() * p_.channels);
                }
                consume({{begin * columns(), end * columns()}, work.sums.data(), 0, p_.channels});
            }
        });
    }

  private:
    std::int64_t columns() const { return p_.window.y[last_]; }
    std::int64_t lines() const { return *volume(p_.window.y) / columns(); }
    std::int64_t tap_lines() const { return taps_ / p_.window.kernel[last_]; }
    std::int64_t x_line_bytes() const { return p_.window.x[last_] * p_.channels; }

    /// Lines of y whose sums take at most 64 KiB, where one does not take more. What takes the sums works on several
    /// positions at once, which short lines alone do not have.
    std::int64_t block_lines() const { return std::max<std::int64_t>(16 * 1024 / (columns() * p_.channels), 1); }

    /// A line of x, or the channels of one position.
    std::int64_t padding_bytes() const { return std::max(x_line_bytes(), p_.channels); }

    void prepare(workspace &memory, int parts) const {
        memory.make_parts(parts);
        for (auto &work : std::span(memory.parts).first(static_cast<std::size_t>(parts))) {
            work.make_padding(padding_bytes());
            workspace::ensure_size(work.lines, static_cast<std::size_t>(tap_lines()));
            workspace::ensure_size(work.tap_addresses, static_cast<std::size_t>(taps_));
            workspace::ensure_size(work.taps, w_->taps.size());
            workspace::ensure_size(
                    work.sums, static_cast<std::size_t>(block_lines() * columns() * p_.channels + lanes_of(p_)));
        }
    }

    void compute_line(workspace::part &work, const std::byte *image, std::int32_t x_zero_point, std::int64_t line,
            std::int32_t *y) const {
        const auto *const padding = work.pad(static_cast<std::byte>(x_zero_point), padding_bytes());
        const auto taps = find_lines(work, image, padding, line);
        const auto *const start = find_start(work, x_zero_point, taps);
        for (std::int64_t c = 0; c < interior_.begin; ++c)
            compute_span(work, padding, {c, c + 1}, taps, start, y);
        if (interior_.begin < interior_.end)
            compute_span(work, padding, {interior_.begin, interior_.end}, taps, start, y);
        for (auto c = interior_.end; c < columns(); ++c)
            compute_span(work, padding, {c, c + 1}, taps, start, y);
    }

    /// The lines of x that the window meets, in the order of its taps; one of padding where it leaves x.
    /// Returns the taps to multiply: those from the first line inside x to the last one.
    parallel::range find_lines(
            workspace::part &work, const std::byte *image, const std::byte *padding, std::int64_t line) const {
        const auto kernel = p_.window.kernel[last_], at_once = w_->at_once;
        parallel::range inside {taps_, 0};
        for (std::int64_t outer = 0; outer < tap_lines(); ++outer) {
            const auto x_line = p_.window.x_line(line, outer);
            work.lines[static_cast<std::size_t>(outer)] = x_line < 0 ? padding : image + x_line * x_line_bytes();
            if (x_line >= 0) inside = {std::min(inside.begin, outer * kernel), (outer + 1) * kernel};
        }
        const auto first_of = [&](std::int64_t tap) {
            return std::ranges::lower_bound(w_->taps, static_cast<std::size_t>(tap)) - w_->taps.begin();
        };
        return {first_of(std::min(inside.begin, inside.end)) / at_once * at_once,
                round_up(first_of(inside.end), at_once)};
    }

    /// The products of the taps that are left out: their x is the zero point. Null: none is.
    const std::int32_t *find_start(workspace::part &work, std::int32_t x_zero_point, parallel::range taps) const {
        if (taps.end - taps.begin == std::ssize(w_->taps)) return nullptr;
        const auto lanes = lanes_of(p_), at_once = w_->at_once;
        auto *const start = work.sums.data() + block_lines() * columns() * p_.channels;
        const auto *const first = w_->before.data() + taps.begin / at_once * lanes;
        const auto *const last = w_->before.data() + taps.end / at_once * lanes;
        const auto *const all = w_->before.data() + std::ssize(w_->taps) / at_once * lanes;
        for (std::int64_t i = 0; i < lanes; ++i) // wraps
            start[i] = static_cast<std::int32_t>(
                    static_cast<std::uint32_t>(x_zero_point) * static_cast<std::uint32_t>(first[i] + all[i] - last[i]));
        return start;
    }

    /// tap_addresses: where each tap lies in x; taps: the same as the weights take them.
    void compute_span(workspace::part &work, const std::byte *padding, parallel::range columns, parallel::range taps,
            const std::int32_t *start, std::int32_t *y) const {
        const auto &w = p_.window;
        auto tap = work.tap_addresses.begin();
        for (const auto *base : std::span(work.lines).first(static_cast<std::size_t>(tap_lines())))
            for (std::int64_t k = 0; k < w.kernel[last_]; ++k) {
                const auto at = w.position(last_, columns.begin, k);
                *tap++ = at < 0 || at >= w.x[last_] ? padding : base + at * p_.channels;
            }
        std::ranges::transform(w_->taps, work.taps.begin(), [&](std::size_t t) { return work.tap_addresses[t]; });
        w_->compute({work.taps.data() + taps.begin, taps.end - taps.begin, columns.end - columns.begin,
                w.strides[last_] * p_.channels, w_->weights.data() + 4 / w_->at_once * taps.begin * lanes_of(p_),
                p_.channels, lanes_of(p_), p_.x_is_signed, start, y + columns.begin * p_.channels});
    }

    integer_convolution p_;
    std::shared_ptr<const depthwise_weights> w_;
    std::int64_t taps_;
    std::size_t last_; // spatial dimension
    window::columns interior_;
};

} // namespace

bool is_depthwise(const integer_convolution &p) {
    return p.groups == p.channels && p.filters == p.channels && p.channels >= 2;
}

depthwise_function quads_function(const integer_convolution &p) {
    const auto *const found = targets::pick(p.available, quads_table);
    return found && !p.x_is_signed && p.channels >= min_quad_channels ? *found : nullptr;
}

depthwise_layout<std::int16_t> depthwise_pairs(const integer_convolution &p, const constant_weights &w) {
    const auto taps = tap_count(p), padded_taps = round_up(taps, 2), lanes = lanes_of(p);
    depthwise_layout<std::int16_t> result;
    for (std::int64_t t = 0; t < padded_taps; ++t)
        result.taps.push_back(static_cast<std::size_t>(std::min(t, taps - 1)));
    result.weights.resize(static_cast<std::size_t>(padded_taps * lanes));
    for (std::int64_t c = 0; c < p.channels; ++c)
        for (std::int64_t t = 0; t < taps; ++t)
            result.weights[static_cast<std::size_t>((t / 2 * lanes + c) * 2 + t % 2)] =
                    static_cast<std::int16_t>(weight_at(p, w, c, t));
    return result;
}

depthwise_layout<std::int8_t> depthwise_quads(const integer_convolution &p, const constant_weights &w) {
    depthwise_layout<std::int8_t> result;
    std::vector<std::vector<std::int8_t>> of_taps; // for each of result.taps the weights of all channels
    for (std::int64_t t = 0; t < tap_count(p); ++t) {
        std::vector<std::int32_t> rest;
        for (std::int64_t c = 0; c < p.channels; ++c)
            rest.push_back(weight_at(p, w, c, t));
        do {
            result.taps.push_back(static_cast<std::size_t>(t));
            auto &weights = of_taps.emplace_back();
            for (auto &weight : rest) {
                weights.push_back(static_cast<std::int8_t>(std::clamp(weight, -128, 127)));
                weight -= weights.back();
            }
        } while (std::ranges::any_of(rest, [](std::int32_t weight) { return weight != 0; }));
    }
    while (result.taps.size() % 4 != 0) {
        result.taps.push_back(result.taps.back());
        of_taps.emplace_back(p.channels);
    }
    const auto taps = std::ssize(result.taps), lanes = lanes_of(p);
    result.weights.resize(static_cast<std::size_t>(taps * lanes));
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t group = lane / 64 * 64 + 64 <= p.channels ? 64 : 32, of_group = lane % group;
        const auto first = std::min(lane - of_group, p.channels - group), parts = group / 16;
        const auto channel = first + of_group / 4 % parts * 16 + of_group / 4 / parts * 4 + of_group % 4;
        for (std::int64_t t = 0; t < taps; ++t)
            result.weights[static_cast<std::size_t>((t / 4 * lanes + lane) * 4 + t % 4)] =
                    of_taps[static_cast<std::size_t>(t)][static_cast<std::size_t>(channel)];
    }
    return result;
}

convolution_factory pack_depthwise_convolution(
        const integer_convolution &p, depthwise_function quads, const constant_weights &w) {
    return [packed = std::make_shared<const depthwise_weights>(p, quads, w)](const integer_convolution &of_shape) {
        return std::make_unique<const depthwise_convolution>(of_shape, packed);
    };
}

convolution_factory pack_depthwise_convolution(const integer_convolution &p, const constant_weights &w) {
    if (!is_depthwise(p)) return nullptr;
    return pack_depthwise_convolution(p, quads_function(p), w);
}

} // namespace dynquant::layers
