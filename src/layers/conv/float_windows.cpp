#include "layers/conv/float_windows.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace dynquant::layers {
namespace {

/// A dimension of the copy.
struct dimension {
    dimension(const window &w, std::size_t d)
        : positions(w.y[d])
        , taps(w.kernel[d])
        , phases(w.kernel[d])
        , extent(w.y[d])
        , stride(w.strides[d])
        , dilation(w.dilations[d])
        , pad(w.pads_begin[d]) {
        const auto remainders = std::min(w.kernel[d], stride / std::gcd(dilation, stride));
        const auto shifted = positions + (w.kernel[d] - 1) * dilation / stride;
        are_shared = remainders * shifted < phases * extent;
        if (!are_shared) return;
        phases = remainders;
        extent = shifted;
    }
    void give_each_tap_a_phase() {
        are_shared = false;
        phases = taps;
        extent = positions;
    }

    std::int64_t phase(std::int64_t tap) const { return tap % phases; }
    std::int64_t shift(std::int64_t tap) const { return are_shared ? tap * dilation / stride : 0; }
    /// What the first element of a phase meets in x.
    std::int64_t first(std::int64_t phase) const {
        return (are_shared ? phase * dilation % stride : phase * dilation) - pad;
    }

    std::int64_t positions, taps, phases, extent, stride, dilation, pad;
    bool are_shared;
};

/// Calls f(i, bytes) for pieces that cover `count` floats from the first on, some of them twice. Lines are short, so
/// that calls of memmove would take longer.
template <typename F>
[[gnu::always_inline]] inline void for_each_piece(std::int64_t count, F f) {
    constexpr std::integral_constant<std::size_t, 32> eight;
    constexpr std::integral_constant<std::size_t, 16> four;
    constexpr std::integral_constant<std::size_t, 4> one;
    if (count >= 8) {
        std::int64_t i = 0;
        for (; i + 8 <= count; i += 8)
            f(i, eight);
        if (i < count) f(count - 8, eight);
    } else if (count >= 4) {
        f(0, four);
        f(count - 4, four);
    } else if (count > 0) {
        f(0, one);
        f(count / 2, one);
        f(count - 1, one);
    }
}

[[gnu::always_inline]] inline void copy_floats(const float *from, std::int64_t count, float *to) {
    for_each_piece(
            count, [=](std::int64_t i, auto bytes) __attribute__((always_inline)) {
                std::memcpy(to + i, from + i, bytes);
            });
}

using four [[gnu::vector_size(16)]] = float;

[[gnu::always_inline]] inline four load_four(const float *from) {
    four result;
    std::memcpy(&result, from, sizeof result);
    return result;
}

/// Every second element, of which the last is the last that may be read.
[[gnu::always_inline]] inline void copy_every_second(const float *from, std::int64_t count, float *to) {
    if (count < 4) {
        for (std::int64_t i = 0; i < count; ++i)
            to[i] = from[2 * i];
        return;
    }
    const auto copy_four = [=](std::int64_t i) {
        const auto some = __builtin_shufflevector(load_four(from + 2 * i), load_four(from + 2 * i + 3), 0, 2, 5, 7);
        std::memcpy(to + i, &some, sizeof some);
    };
    for (std::int64_t i = 0; i < count - 4; i += 4)
        copy_four(i);
    copy_four(count - 4); // some of them maybe once more
}

/// `count` elements to either place by turns.
[[gnu::always_inline]] inline void copy_by_turns(const float *from, std::int64_t count, float *even, float *odd) {
    if (count < 4) {
        for (std::int64_t i = 0; i < count; ++i) {
            even[i] = from[2 * i];
            odd[i] = from[2 * i + 1];
        }
        return;
    }
    const auto copy_four = [=](std::int64_t i) {
        const auto first = load_four(from + 2 * i), second = load_four(from + 2 * i + 4);
        const auto evens = __builtin_shufflevector(first, second, 0, 2, 4, 6),
                   odds = __builtin_shufflevector(first, second, 1, 3, 5, 7);
        std::memcpy(even + i, &evens, sizeof evens);
        std::memcpy(odd + i, &odds, sizeof odds);
    };
    for (std::int64_t i = 0; i < count - 4; i += 4)
        copy_four(i);
    copy_four(count - 4);
}

} // namespace

// It takes little of a run: small rather than fast, for the Python package's sake.
[[gnu::cold]] float_windows::float_windows(
        const window &w, std::int64_t channels, std::int64_t filters, std::int64_t lanes)
    : w_(w)
    , lanes_(lanes)
    , lines_(w.rank() > 1 ? w.y[w.rank() - 2] : 1) {
    const auto last = w.rank() - 1;
    std::vector<dimension> of;
    for (std::size_t d = 0; d < w.rank(); ++d)
        of.emplace_back(w, d);
    auto &along = of[last];
    const auto taps = *volume(w.kernel), y_lines = *volume(w.y) / along.positions;
    const auto joined_vectors = [&] { return ceil_div((lines_ - 1) * along.extent + along.positions, lanes); };
    const auto separate_vectors = lines_ * ceil_div(along.positions, lanes);
    // The results of joined lines are stored, copied without the elements between them, and loaded once more for
    // bias and post-ops, which takes as long as ten products.
    const auto are_joined = [&] {
        const auto products = channels * taps;
        return joined_vectors() * (products + 10) < separate_vectors * products;
    };
    // Products that take as long: an element is copied while ten of them are computed.
    const auto cost = [&] {
        auto copied = static_cast<double>(along.phases * along.extent);
        for (std::size_t d = 0; d < last; ++d)
            copied *= static_cast<double>(of[d].phases * of[d].extent);
        const auto positions = y_lines / lines_ * (are_joined() ? joined_vectors() : separate_vectors) * lanes;
        return static_cast<double>(positions) * static_cast<double>(taps * filters) + 10 * copied;
    };
    if (along.are_shared) {
        const auto shared = along;
        const auto cost_of_shared = cost();
        along.give_each_tap_a_phase();
        if (cost() >= cost_of_shared) along = shared;
    }
    line_elements_ = along.extent;
    for (std::int64_t i = 0; i < along.phases; ++i) {
        const auto first = along.first(i), count = along.extent;
        const auto begin = std::min(first < 0 ? ceil_div(-first, along.stride) : 0, count);
        const auto end = first < w.x[last] ? (w.x[last] - first - 1) / along.stride + 1 : 0;
        phases_.push_back({begin, std::clamp(end, begin, count), first + begin * along.stride});
        has_padding_ = has_padding_ || begin > 0 || end < count;
    }

    // Lines of the copy, the phases of all dimensions before the positions of all, and how far these lie apart.
    std::vector<std::int64_t> of_phases(last), of_positions(last);
    std::int64_t lines = 1;
    for (auto *const strides : {&of_positions, &of_phases})
        for (auto d = last; d-- > 0;) {
            (*strides)[d] = lines;
            lines *= strides == &of_phases ? of[d].phases : of[d].extent;
        }
    for (std::int64_t line = 0; line < lines; ++line) {
        std::int64_t x_line = 0;
        for (std::size_t d = 0; d < last && x_line >= 0; ++d) {
            const auto phase = line / of_phases[d] % of[d].phases, i = line / of_positions[d] % of[d].extent;
            const auto at = i * of[d].stride + of[d].first(phase);
            x_line = at < 0 || at >= w.x[d] ? -1 : x_line * w.x[d] + at;
        }
        if (x_line >= 0) lines_of_x_.push_back({x_line * w.x[last], line * line_elements_});
        has_padding_ = has_padding_ || x_line < 0;
    }
    phase_elements_ = round_up(lines * line_elements_, std::int64_t {16}); // cache lines
    channel_elements_ = along.phases * phase_elements_;

    const auto tap_lines = taps / w.kernel[last];
    offsets_.reserve(static_cast<std::size_t>(std::max(channels, std::int64_t {1}) * taps));
    for (std::int64_t tap_line = 0; tap_line < tap_lines; ++tap_line) {
        std::int64_t line = 0;
        for (auto d = last, rest = static_cast<std::size_t>(tap_line); d-- > 0;) {
            const auto kernel = static_cast<std::size_t>(w.kernel[d]);
            const auto tap = static_cast<std::int64_t>(rest % kernel);
            rest /= kernel;
            line += of[d].phase(tap) * of_phases[d] + of[d].shift(tap) * of_positions[d];
        }
        for (std::int64_t tap = 0; tap < w.kernel[last]; ++tap)
            offsets_.push_back(along.phase(tap) * phase_elements_ + line * line_elements_ + along.shift(tap));
    }
    if (channels == 0) offsets_.clear();
    for (std::int64_t k = taps; k < channels * taps; ++k)
        offsets_.push_back(offsets_[static_cast<std::size_t>(k - taps)] + channel_elements_);

    are_joined_ = are_joined();
    line_lanes_ = are_joined_ ? line_elements_ : round_up(along.positions, lanes);
    plane_lanes_ = (are_joined_ ? joined_vectors() : separate_vectors) * lanes;
    for (std::int64_t y_line = 0; y_line < y_lines; ++y_line) {
        if (are_joined_ && y_line % lines_ != 0) continue;
        std::int64_t line = 0;
        for (auto d = last, rest = static_cast<std::size_t>(y_line); d-- > 0;) {
            const auto positions = static_cast<std::size_t>(w.y[d]);
            line += static_cast<std::int64_t>(rest % positions) * of_positions[d];
            rest /= positions;
        }
        const auto count = are_joined_ ? plane_lanes_ : line_lanes_,
                   place = are_joined_ ? std::ssize(places_) * lanes : y_line * along.positions;
        for (std::int64_t lane = 0; lane < count; lane += lanes) {
            starts_.push_back(line * line_elements_ + lane);
            places_.push_back(place + lane);
        }
    }
    starts_.push_back(starts_.back()); // as windows_of_vectors has it
    places_.push_back(places_.back());
}

void float_windows::clear(std::int64_t channels, float *to) const {
    if (has_padding_) std::memset(to, 0, static_cast<std::size_t>(channels * channel_elements_) * sizeof *to);
}

void float_windows::copy(const float *x, std::int64_t channels, float *to) const {
    const auto x_elements = *volume(w_.x), stride = w_.strides.back();
    const auto for_each_channel = [&](auto f) __attribute__((always_inline)) {
        for (std::int64_t channel = 0; channel < channels; ++channel, x += x_elements, to += channel_elements_)
            f(x, to);
    };
    const auto copy_phases = [&](auto copy_line) __attribute__((always_inline)) {
        for_each_channel([&](const float *from, float *phase) __attribute__((always_inline)) {
            for (const auto &[begin, end, first] : phases_) {
                for (const auto &line : lines_of_x_)
                    copy_line(from + (line.of_x + first), end - begin, phase + (line.of_copy + begin));
                phase += phase_elements_;
            }
        });
    };
    if (stride == 1) {
        copy_phases([](auto... line) __attribute__((always_inline)) { copy_floats(line...); });
    } else if (stride == 2 && phases_.size() == 2 && std::abs(phases_[0].first - phases_[1].first) == 1) {
        const bool is_first_even = phases_[0].first < phases_[1].first;
        const auto even = phases_[is_first_even ? 0 : 1], odd = phases_[is_first_even ? 1 : 0];
        const auto to_even = (is_first_even ? 0 : phase_elements_) + even.begin,
                   to_odd = (is_first_even ? phase_elements_ : 0) + odd.begin;
        // Either may have more: a padding may take the first places of one alone.
        const auto even_count = even.end - even.begin, odd_count = odd.end - odd.begin,
                   pairs = std::min(even_count, odd_count);
        for_each_channel([&](const float *of_x, float *of_copy) __attribute__((always_inline)) {
            for (const auto &line : lines_of_x_) {
                const auto *const from = of_x + (line.of_x + even.first);
                auto *const copied = of_copy + line.of_copy;
                copy_by_turns(from, pairs, copied + to_even, copied + to_odd);
                copy_every_second(from + 2 * pairs, even_count - pairs, copied + (to_even + pairs));
                copy_every_second(from + 2 * pairs + 1, odd_count - pairs, copied + (to_odd + pairs));
            }
        });
    } else if (stride == 2) {
        copy_phases([](auto... line) __attribute__((always_inline)) { copy_every_second(line...); });
    } else {
        copy_phases([=](const float *from, std::int64_t count, float *line) {
            for (std::int64_t i = 0; i < count; ++i)
                line[i] = from[i * stride];
        });
    }
}

std::int64_t float_windows::position_at(std::int64_t lane) const {
    const auto in_plane = lane % plane_lanes_, line = in_plane / line_lanes_;
    return (lane / plane_lanes_ * lines_ + line) * w_.y.back() + std::min(in_plane - line * line_lanes_, w_.y.back());
}

float_windows::positions float_windows::of_vectors(std::int64_t begin, std::int64_t end) const {
    return {position_at(begin * lanes_), position_at(end * lanes_)};
}

void float_windows::pick(const float *lanes, std::int64_t begin, std::int64_t end, std::int64_t channels,
        std::int64_t stride, float *to, std::int64_t to_stride) const {
    const auto of_line = w_.y.back();
    const auto [position, last] = of_vectors(begin, end);
    for (auto at = position; at < last;) {
        const auto line = at / of_line, column = at - line * of_line, count = std::min(of_line - column, last - at);
        const auto *const from = lanes + (lane_of(line) + column - begin * lanes_);
        for (std::int64_t c = 0; c < channels; ++c)
            copy_floats(from + c * stride, count, to + c * to_stride);
        to += count;
        at += count;
    }
}

void float_windows::gather(const float *copied, float *to) const {
    const auto positions = w_.y.back(), lines = *volume(w_.y) / positions;
    std::vector<std::int64_t> of_lines;
    for (std::int64_t line = 0; line < lines; ++line) {
        const auto lane = lane_of(line);
        of_lines.push_back(starts_[static_cast<std::size_t>(lane / lanes_)] + lane % lanes_);
    }
    for (const auto offset : offsets_)
        for (const auto line : of_lines) {
            copy_floats(copied + (line + offset), positions, to);
            to += positions;
        }
}

} // namespace dynquant::layers
