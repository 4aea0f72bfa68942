// The loops of steps.hpp over vectors V, see targets/simd.hpp. A tile of as many positions as a vector has lanes, by as
// many channels, stays in registers for all steps. A vector of one lane has a tile of eight positions.
#pragma once

#include <algorithm>

#include "elements/small_float.hpp"
#include "layers/steps/steps.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

template <typename V>
constexpr int most_positions = V::lanes == 1 ? 8 : V::lanes;

template <typename V>
using vectors_of_tile = typename V::reals[most_positions<V>];

template <typename V>
struct tile {
    std::int64_t positions, first_channel;
    typename V::mask channels;
    vectors_of_tile<V> x; // one for each position; beyond `positions` the last one again
};

/// f of each vector and its index.
template <typename V, typename F>
[[gnu::always_inline]] inline void for_each_vector(tile<V> &t, F f) {
    unroll<most_positions<V>>([&](int i) __attribute__((always_inline)) { t.x[i] = f(t.x[i], i); });
}

template <typename V>
[[gnu::always_inline]] inline void load(const float_steps_call &call, const std::int32_t *sums, tile<V> &t) {
    const auto bias = V::load(call.bias ? call.bias + t.first_channel : sums + t.first_channel, t.channels);
    unroll<most_positions<V>>([&](int p) __attribute__((always_inline)) {
        const auto *row = sums + std::min<std::int64_t>(p, t.positions - 1) * call.channels + t.first_channel;
        auto s = V::load(row, t.channels);
        if (call.bias) s = V::add(s, bias);
        t.x[p] = call.result == step_result::s32 ? V::as_reals(s) : V::to_reals(s);
    });
}

/// A parameter of the tile's channels.
template <typename V>
[[gnu::always_inline]] inline typename V::reals parameter(std::span<const float> values, const tile<V> &t) {
    return values.size() == 1 ? V::splat(values[0]) : V::load(values.data() + t.first_channel, t.channels);
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

template <typename V>
[[gnu::always_inline]] inline void apply(const float_step &step, tile<V> &t, vectors_of_tile<V> &saved) {
    using kind = float_step::kind;
    using reals = typename V::reals;
    switch (step.what) {
        case kind::multiply: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](reals x, int) { return x * a; });
        }
        case kind::divide: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](reals x, int) { return x / a; });
        }
        case kind::add: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](reals x, int) { return x + a; });
        }
        case kind::clip: {
            const auto a = parameter<V>(step.a, t), b = parameter<V>(step.b, t);
            return for_each_vector<V>(t, [=](reals x, int) { return V::min(b, V::max(a, x)); });
        }
        case kind::saturate: {
            const auto a = parameter<V>(step.a, t), b = parameter<V>(step.b, t);
            return for_each_vector<V>(t, [=](reals x, int) { return V::min(V::max(x, a), b); });
        }
        case kind::round: return for_each_vector<V>(t, [](reals x, int) { return V::round(x); });
        case kind::leaky_relu: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](reals x, int) { return V::select_less(x, V::splat(0.0F), x * a, x); });
        }
        case kind::save: { // no memmove, as that would keep the tile in memory
            return for_each_vector<V>(t, [&](reals x, int i) { return saved[i] = x; });
        }
        case kind::multiply_saved: {
            return for_each_vector<V>(t, [&](reals x, int i) { return x * saved[i]; });
        }
        case kind::look_up: {
            const auto *table = step.table.data();
            return for_each_vector<V>(t, [=](reals x, int) { return look_up<V>(table, x); });
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

/// at: the element of y of the tile's first position and channel. channels: how many the tile has.
template <typename V>
[[gnu::always_inline]] inline void store(
        const float_steps_call &call, tile<V> &t, std::int64_t channels, std::int64_t at) {
    if (V::lanes == 1 || call.channel_stride == 1) {
        return unroll<most_positions<V>>([&](int p) __attribute__((always_inline)) {
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

template <typename V>
void compute_tile(const float_steps_call &call, std::int64_t position, std::int64_t end, std::int64_t channel,
        vectors_of_tile<V> &saved) {
    tile<V> t;
    const auto channels = std::min<std::int64_t>(V::lanes, call.channels - channel);
    t.positions = std::min<std::int64_t>(most_positions<V>, end - position);
    t.first_channel = channel;
    t.channels = V::first_lanes(channels);
    load<V>(call, call.sums + position * call.channels, t);
    for (const auto &step : call.steps)
        apply<V>(step, t, saved);
    store<V>(call, t, channels, position * call.position_stride + channel * call.channel_stride);
}

/// The inner loop runs along the dense dimension of y.
template <typename V>
void float_steps(const float_steps_call &call, std::int64_t begin, std::int64_t end) {
    vectors_of_tile<V> saved = {};
    if (call.channel_stride == 1) {
        for (auto p = begin; p < end; p += most_positions<V>)
            for (std::int64_t c = 0; c < call.channels; c += V::lanes)
                compute_tile<V>(call, p, end, c, saved);
    } else {
        for (std::int64_t c = 0; c < call.channels; c += V::lanes)
            for (auto p = begin; p < end; p += most_positions<V>)
                compute_tile<V>(call, p, end, c, saved);
    }
}

} // namespace
} // namespace dynquant::layers
