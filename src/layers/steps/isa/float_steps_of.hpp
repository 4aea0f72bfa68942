// The loops of steps.hpp over vectors V, see targets/simd.hpp. A tile of as many vectors as a vector has lanes stays in
// registers for all steps; of eight where a vector has one lane.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "elements/small_float.hpp"
#include "layers/steps/steps.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

template <typename V>
constexpr int vectors = V::lanes == 1 ? 8 : V::lanes;

template <typename V>
using vectors_of_tile = typename V::reals[vectors<V>];

/// What a tile's vectors are: one for each position, of the same channels; or one after another of one position.
enum class tiling { positions, channels };

template <typename V, tiling of>
struct tile {
    std::int64_t position, positions, channel; // position, channel: the first ones, those of parameters
    bool is_one_channel;
    typename V::mask channels; // of each vector of positions
    vectors_of_tile<V> x;      // beyond `positions` the last one again
};

/// f of each vector and its index.
template <typename V, tiling of, typename F>
[[gnu::always_inline]] inline void for_each_vector(tile<V, of> &t, F f) {
    unroll<vectors<V>>([&](int i) __attribute__((always_inline)) { t.x[i] = f(t.x[i], i); });
}

/// Elements of a vector's channels. Vectors along channels are whole.
template <typename V, tiling of, typename T>
[[gnu::always_inline]] inline auto load_channels(const T *p, const tile<V, of> &t) {
    if constexpr (of == tiling::channels)
        return V::load(p);
    else
        return V::load(p, t.channels);
}

/// A parameter of the tile's channels: the same for all vectors, or one for each where these are channels.
template <typename V, tiling of, typename T = float>
class parameter {
  public:
    [[gnu::always_inline]] parameter(const T *values, bool is_one, const tile<V, of> &t)
        : first_(is_one ? V::splat(*values) : load_channels(values, t))
        , others_(of == tiling::channels && !is_one ? values : nullptr) {}
    [[gnu::always_inline]] parameter(std::span<const float> values, const tile<V, of> &t)
        : parameter(values.data() + (values.size() == 1 ? 0 : t.channel), values.size() == 1 || t.is_one_channel, t) {}

    /// From vector to vector.
    bool differs() const { return others_ != nullptr; }
    [[gnu::always_inline]] auto at(int vector) const { return others_ ? V::load(others_ + vector * V::lanes) : first_; }

  private:
    decltype(V::splat(T {})) first_;
    const T *others_; // null where all are the first
};

/// Where the scale and the zero point lie of the row of x that a vector's sums are of.
template <typename V, tiling of>
[[gnu::always_inline]] inline std::int64_t row_of(const float_steps_call &call, const tile<V, of> &t, int vector) {
    const auto position = of == tiling::channels ? 0 : std::min<std::int64_t>(vector, t.positions - 1);
    return (t.position + position) * call.row_stride;
}

/// sums: the tile's first one.
template <typename V, tiling of>
[[gnu::always_inline]] inline void load(const float_steps_call &call, const std::int32_t *sums, tile<V, of> &t) {
    using reals = typename V::reals;
    const auto stride = of == tiling::channels ? V::lanes : call.channels;
    const auto last = (of == tiling::channels ? vectors<V> - 1 : t.positions - 1) * stride;
    if (call.of_floats) {
        const auto *const floats = reinterpret_cast<const float *>(sums);
        return for_each_vector<V, of>(
                t, [&](reals, int i) { return load_channels<V, of>(floats + std::min(i * stride, last), t); });
    }
    for_each_vector<V, of>(
            t, [&](reals, int i) { return V::as_reals(load_channels<V, of>(sums + std::min(i * stride, last), t)); });
    if (call.bias) {
        const parameter<V, of, std::int32_t> bias(call.bias + t.channel, t.is_one_channel, t);
        for_each_vector<V, of>(t, [&](reals x, int i) { return V::as_reals(V::add(V::as_integers(x), bias.at(i))); });
    }
    if (call.x_zero_points) {
        const parameter<V, of, std::int32_t> of_weights(call.weight_sums + t.channel, t.is_one_channel, t);
        const auto subtract = [](reals x, auto term) { return V::as_reals(V::subtract(V::as_integers(x), term)); };
        const auto term = [&](int i) {
            return V::multiply(V::splat(call.x_zero_points[row_of<V, of>(call, t, i)]), of_weights.at(i));
        };
        if (call.row_stride == 0 && !of_weights.differs()) {
            const auto first = term(0);
            for_each_vector<V, of>(t, [&](reals x, int) { return subtract(x, first); });
        } else {
            for_each_vector<V, of>(t, [&](reals x, int i) { return subtract(x, term(i)); });
        }
    }
    if (call.result != step_result::s32)
        for_each_vector<V, of>(t, [](reals x, int) { return V::to_reals(V::as_integers(x)); });
}

/// A function, as a call for each vector takes little beside the look-ups.
template <typename V>
[[gnu::noinline]] typename V::reals look_up(const std::uint8_t *table, typename V::reals x) {
    float values[V::lanes];
    V::store(values, x);
    for (auto &value : values)
        value = static_cast<float>(table[float16::from(value).bits]);
    return V::load(values);
}

/// Whether a save and the steps behind it are clip(x * factor + summand) * x, as in HardSwish, with one factor or none
/// and one summand. `add`: which step has the summand.
inline bool is_product_with_clip(std::span<const float_step> steps, std::size_t add) {
    using kind = float_step::kind;
    return steps.size() > add + 2 && steps[1].a.size() == 1 && steps[add].what == kind::add && steps[add].a.size() == 1
            && steps[add + 1].what == kind::clip && steps[add + 2].what == kind::multiply_saved;
}

/// Applies the first step. Where it applies some more in the same pass, `steps` then begins with the last of them.
template <typename V, tiling of>
[[gnu::always_inline]] inline void apply(
        const float_steps_call &call, std::span<const float_step> &steps, tile<V, of> &t, vectors_of_tile<V> &saved) {
    using kind = float_step::kind;
    using reals = typename V::reals;
    const auto &step = steps.front();
    switch (step.what) {
        case kind::multiply: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x * a.at(i); });
        }
        case kind::scale: {
            const parameter<V, of> a(step.a, t);
            const auto factor = [&](int i) { return V::splat(call.x_scales[row_of<V, of>(call, t, i)]) * a.at(i); };
            if (call.row_stride != 0 || a.differs())
                return for_each_vector<V, of>(t, [&](reals x, int i) { return x * factor(i); });
            const auto first = factor(0);
            return for_each_vector<V, of>(t, [&](reals x, int) { return x * first; });
        }
        case kind::divide: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x / a.at(i); });
        }
        case kind::add: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x + a.at(i); });
        }
        case kind::clip: {
            const auto a = V::splat(step.a[0]), b = V::splat(step.b[0]);
            return for_each_vector<V, of>(t, [=](reals x, int) { return V::min(b, V::max(a, x)); });
        }
        case kind::saturate: {
            const auto a = V::splat(step.a[0]), b = V::splat(step.b[0]);
            return for_each_vector<V, of>(t, [=](reals x, int) { return V::min(V::max(x, a), b); });
        }
        case kind::round: return for_each_vector<V, of>(t, [](reals x, int) { return V::round(x); });
        case kind::leaky_relu: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(
                    t, [&](reals x, int i) { return V::select_less(x, V::splat(0.0F), x * a.at(i), x); });
        }
        case kind::save: {
            const std::size_t add = steps.size() > 1 && steps[1].what == kind::multiply ? 2 : 1;
            if (is_product_with_clip(steps, add)) {
                const auto summand = V::splat(steps[add].a[0]);
                const auto a = V::splat(steps[add + 1].a[0]), b = V::splat(steps[add + 1].b[0]);
                const auto clip = [=](reals x) { return V::min(b, V::max(a, x)); };
                const auto factor = V::splat(steps[1].a[0]);
                steps = steps.subspan(add + 2);
                if (add == 1) return for_each_vector<V, of>(t, [=](reals x, int) { return clip(x + summand) * x; });
                return for_each_vector<V, of>(t, [=](reals x, int) { return clip(x * factor + summand) * x; });
            }
            // No memmove, as that would keep the tile in memory.
            return for_each_vector<V, of>(t, [&](reals x, int i) { return saved[i] = x; });
        }
        case kind::multiply_saved: {
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x * saved[i]; });
        }
        case kind::look_up: {
            const auto *table = step.table.data();
            return for_each_vector<V, of>(t, [=](reals x, int) { return look_up<V>(table, x); });
        }
    }
}

/// f stores one vector at an element of y.
template <typename V, tiling of, typename F>
[[gnu::always_inline]] inline void store_by(
        F f, const float_steps_call &call, tile<V, of> &t, std::int64_t channels, std::int64_t at) {
    auto rows = t.positions, stride = call.position_stride, length = channels;
    if constexpr (of == tiling::channels) {
        rows = vectors<V>;
        stride = length = V::lanes;
    } else if constexpr (V::lanes > 1) {
        if (call.channel_stride != 1) {
            V::transpose_reals(t.x);
            std::swap(rows, length);
            stride = call.channel_stride;
        }
    }
    if (rows >= vectors<V> && length >= V::lanes) {
        const auto all = V::first_lanes(V::lanes);
        unroll<vectors<V>>([&](int i) __attribute__((always_inline)) { f(at + i * stride, all, t.x[i]); });
    } else {
        const auto some = V::first_lanes(length);
        unroll<vectors<V>>([&](int i) __attribute__((always_inline)) {
            if (i < rows) f(at + i * stride, some, t.x[i]);
        });
    }
}

/// at: the element of y of the tile's first position and channel. channels: how many each vector has.
template <typename V, tiling of>
[[gnu::always_inline]] inline void store(
        const float_steps_call &call, tile<V, of> &t, std::int64_t channels, std::int64_t at) {
    using mask = typename V::mask;
    using reals = typename V::reals;
    if (call.result == step_result::bytes) {
        auto *const y = static_cast<std::byte *>(call.y);
        store_by<V, of>(
                [=](std::int64_t i, const mask &m, reals x)
                        __attribute__((always_inline)) { V::store_low_bytes(y + i, m, V::to_integers(x)); },
                call, t, channels, at);
    } else {
        auto *const y = static_cast<float *>(call.y);
        store_by<V, of>(
                [=](std::int64_t i, const mask &m, reals x) __attribute__((always_inline)) { V::store(y + i, m, x); },
                call, t, channels, at);
    }
}

template <typename V, tiling of>
void compute_tile(const float_steps_call &call, std::int64_t position, std::int64_t end, std::int64_t channel,
        vectors_of_tile<V> &saved) {
    tile<V, of> t;
    const auto channels = std::min<std::int64_t>(V::lanes, call.channels - channel);
    t.position = position;
    t.positions = std::min<std::int64_t>(vectors<V>, end - position);
    t.is_one_channel = call.one_channel >= 0;
    t.channel = t.is_one_channel ? call.one_channel : channel;
    t.channels = V::first_lanes(channels);
    load<V, of>(call, call.sums + position * call.channels + channel, t);
    for (auto steps = call.steps; !steps.empty(); steps = steps.subspan(1))
        apply<V, of>(call, steps, t, saved);
    store<V, of>(call, t, channels, position * call.position_stride + channel * call.channel_stride);
}

template <typename V>
constexpr std::int64_t tile_width = vectors<V> *V::lanes; // of one position

/// The last positions of one channel, fewer than a tile has, by copies that fill one.
template <typename V>
void compute_rest(const float_steps_call &call, std::int64_t first, vectors_of_tile<V> &saved) {
    alignas(64) std::int32_t sums[tile_width<V>] = {}, y[tile_width<V>];
    const auto count = static_cast<std::size_t>(call.channels - first);
    std::memcpy(sums, call.sums + first, count * sizeof *sums);
    auto rest = call;
    rest.sums = sums;
    rest.channels = tile_width<V>;
    rest.y = y;
    compute_tile<V, tiling::channels>(rest, 0, 1, 0, saved);
    const std::size_t element = call.result == step_result::bytes ? 1 : 4;
    std::memcpy(static_cast<std::byte *>(call.y) + static_cast<std::size_t>(first) * element, y, count * element);
}

/// The inner loop runs along the dense dimension of y. Where that is the channels, a tile lies along them as far as it
/// fills them: it then reads and writes memory in order, and one position fills it.
template <typename V>
void float_steps(const float_steps_call &call, std::int64_t begin, std::int64_t end) {
    vectors_of_tile<V> saved = {};
    if (call.channel_stride == 1) {
        const auto whole = call.channels / tile_width<V> * tile_width<V>;
        const auto rest = call.channels - whole;
        // A tile that overlaps the previous one computes some results twice, but may replace many tiles.
        const bool overlaps = whole > 0 && rest > 0 && (end - begin) * V::lanes < rest;
        for (auto p = begin; p < end; ++p) {
            for (std::int64_t c = 0; c < whole; c += tile_width<V>)
                compute_tile<V, tiling::channels>(call, p, p + 1, c, saved);
            if (overlaps) compute_tile<V, tiling::channels>(call, p, p + 1, call.channels - tile_width<V>, saved);
        }
        if (rest == 0 || overlaps) return;
        if (call.one_channel >= 0) return compute_rest<V>(call, whole, saved);
        for (auto p = begin; p < end; p += vectors<V>)
            for (auto c = whole; c < call.channels; c += V::lanes)
                compute_tile<V, tiling::positions>(call, p, end, c, saved);
    } else {
        for (std::int64_t c = 0; c < call.channels; c += V::lanes)
            for (auto p = begin; p < end; p += vectors<V>)
                compute_tile<V, tiling::positions>(call, p, end, c, saved);
    }
}

} // namespace
} // namespace dynquant::layers
