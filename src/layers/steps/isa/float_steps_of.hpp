// The loops of steps.hpp over vectors V, see targets/simd.hpp. A tile of as many vectors as a vector has lanes stays in
// registers for all steps; of eight where a vector has one lane.
#pragma once

#include <algorithm>
#include <cstring>

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
    std::int64_t position, positions, first_channel, one_channel;
    typename V::mask channels; // of each vector: all of them where these are channels
    vectors_of_tile<V> x;      // beyond `positions` the last one again
};

/// The first channel of a vector, less the tile's.
template <typename V, tiling of>
constexpr std::int64_t channel_of(int vector) {
    return of == tiling::channels ? vector * V::lanes : 0;
}

/// f of each vector and its index.
template <typename V, tiling of, typename F>
[[gnu::always_inline]] inline void for_each_vector(tile<V, of> &t, F f) {
    unroll<vectors<V>>([&](int i) __attribute__((always_inline)) { t.x[i] = f(t.x[i], i); });
}

/// Where the scale and the zero point of x lie that a vector was multiplied by.
template <typename V, tiling of>
std::int64_t row_of(const float_steps_call &call, const tile<V, of> &t, int vector) {
    const auto position = of == tiling::channels ? 0 : std::min<std::int64_t>(vector, t.positions - 1);
    return (t.position + position) * call.row_stride;
}

template <typename V, tiling of>
[[gnu::always_inline]] inline void load(const float_steps_call &call, const std::int32_t *sums, tile<V, of> &t) {
    const auto *bias = call.bias && t.one_channel < 0 ? call.bias + t.first_channel : nullptr;
    const auto first_bias = call.bias && t.one_channel >= 0 ? V::splat(call.bias[t.one_channel])
                                                            : V::load(bias ? bias : sums + t.first_channel, t.channels);
    unroll<vectors<V>>([&](int i) __attribute__((always_inline)) {
        const auto position = of == tiling::channels ? 0 : std::min<std::int64_t>(i, t.positions - 1);
        const auto channel = channel_of<V, of>(i);
        auto s = V::load(sums + position * call.channels + t.first_channel + channel, t.channels);
        if (call.bias) s = V::add(s, of == tiling::channels && bias ? V::load(bias + channel) : first_bias);
        if (call.x_zero_points) {
            const auto of_weights = t.one_channel >= 0
                    ? V::splat(call.weight_sums[t.one_channel])
                    : V::load(call.weight_sums + t.first_channel + channel, t.channels);
            s = V::subtract(s, V::multiply(V::splat(call.x_zero_points[row_of<V, of>(call, t, i)]), of_weights));
        }
        t.x[i] = call.result == step_result::s32 ? V::as_reals(s) : V::to_reals(s);
    });
}

/// A parameter of the tile's channels: the same for all vectors, or one for each where these are channels.
template <typename V, tiling of>
class parameter {
  public:
    [[gnu::always_inline]] parameter(std::span<const float> values, const tile<V, of> &t)
        : first_(is_one(values, t) ? V::splat(values[values.size() == 1 ? 0 : static_cast<std::size_t>(t.one_channel)])
                                   : V::load(values.data() + t.first_channel, t.channels))
        , others_(of == tiling::channels && !is_one(values, t) ? values.data() + t.first_channel : nullptr) {}

    [[gnu::always_inline]] typename V::reals at(int vector) const {
        return others_ ? V::load(others_ + channel_of<V, of>(vector)) : first_;
    }

  private:
    static bool is_one(std::span<const float> values, const tile<V, of> &t) {
        return values.size() == 1 || t.one_channel >= 0;
    }

    typename V::reals first_;
    const float *others_; // null where all are the first
};

/// A function, as a call for each vector takes little beside the look-ups.
template <typename V>
[[gnu::noinline]] typename V::reals look_up(const std::uint8_t *table, typename V::reals x) {
    float values[V::lanes];
    V::store(values, x);
    for (auto &value : values)
        value = static_cast<float>(table[float16::from(value).bits]);
    return V::load(values);
}

template <typename V, tiling of>
[[gnu::always_inline]] inline void apply(
        const float_steps_call &call, const float_step &step, tile<V, of> &t, vectors_of_tile<V> &saved) {
    using kind = float_step::kind;
    using reals = typename V::reals;
    switch (step.what) {
        case kind::multiply: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x * a.at(i); });
        }
        case kind::scale: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(
                    t, [&](reals x, int i) { return x * (V::splat(call.x_scales[row_of<V, of>(call, t, i)]) * a.at(i)); });
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
            const parameter<V, of> a(step.a, t), b(step.b, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return V::min(b.at(i), V::max(a.at(i), x)); });
        }
        case kind::saturate: {
            const parameter<V, of> a(step.a, t), b(step.b, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return V::min(V::max(x, a.at(i)), b.at(i)); });
        }
        case kind::round: return for_each_vector<V, of>(t, [](reals x, int) { return V::round(x); });
        case kind::leaky_relu: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(
                    t, [&](reals x, int i) { return V::select_less(x, V::splat(0.0F), x * a.at(i), x); });
        }
        case kind::save: { // no memmove, as that would keep the tile in memory
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

/// Stores one vector at an element of y.
template <typename V>
[[gnu::always_inline]] inline void store(
        const float_steps_call &call, std::int64_t at, const typename V::mask &mask, const typename V::reals &v) {
    if (call.result == step_result::bytes)
        V::store_low_bytes(static_cast<std::byte *>(call.y) + at, mask, V::to_integers(v));
    else
        V::store(static_cast<float *>(call.y) + at, mask, v);
}

/// at: the element of y of the tile's first position and channel. channels: how many each vector has.
template <typename V, tiling of>
[[gnu::always_inline]] inline void store(
        const float_steps_call &call, tile<V, of> &t, std::int64_t channels, std::int64_t at) {
    if constexpr (of == tiling::channels) {
        return unroll<vectors<V>>([&](int i)
                        __attribute__((always_inline)) { store<V>(call, at + i * V::lanes, t.channels, t.x[i]); });
    }
    if (V::lanes == 1 || call.channel_stride == 1) {
        return unroll<vectors<V>>([&](int p) __attribute__((always_inline)) {
            if (p < t.positions) store<V>(call, at + p * call.position_stride, t.channels, t.x[p]);
        });
    }
    if constexpr (V::lanes > 1) {
        V::transpose_reals(t.x);
        const auto positions = V::first_lanes(t.positions);
        unroll<V::lanes>([&](int c) __attribute__((always_inline)) {
            if (c < channels) store<V>(call, at + c * call.channel_stride, positions, t.x[c]);
        });
    }
}

template <typename V, tiling of>
void compute_tile(const float_steps_call &call, std::int64_t position, std::int64_t end, std::int64_t channel,
        vectors_of_tile<V> &saved) {
    tile<V, of> t;
    const auto channels = std::min<std::int64_t>(V::lanes, call.channels - channel);
    t.position = position;
    t.positions = std::min<std::int64_t>(vectors<V>, end - position);
    t.first_channel = channel;
    t.one_channel = call.one_channel;
    t.channels = V::first_lanes(channels);
    load<V, of>(call, call.sums + position * call.channels, t);
    for (const auto &step : call.steps)
        apply<V, of>(call, step, t, saved);
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
