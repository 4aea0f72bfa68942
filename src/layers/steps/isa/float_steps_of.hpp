// The loops of steps.hpp. A tile of as many positions as a vector has lanes, by as many channels, stays in registers
// for all steps. An instruction set V has
//     lanes, vector
//     mask, mask_of(count)               the first `count` lanes
//     load(p, mask), load_sums(p, mask)  zeros in the other lanes, which are not read; of floats and of s32
//     store(p, mask, v), store_bytes(p, mask, v)   of floats; of the low bytes of floats that are integers
//     add(sums, bias)                    wrapping
//     to_float(sums), as_float(sums)     converted; the same bits
//     broadcast(x), multiply(x, a), divide(x, a), add(x, a), clip(x, a, b), saturate(x, a, b),
//     round(x), leaky_relu(x, a)
//     transpose(x)                       lanes x lanes
#pragma once

#include <algorithm>
#include <utility>

#include "layers/steps/steps.hpp"

namespace dynquant::layers {
namespace {

/// f(0) to f(count - 1). g++ 12 unrolls loops after it decides which arrays to keep in registers.
template <int count, typename F>
[[gnu::always_inline]] inline void unroll(F f) {
    [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
        (f(i), ...);
    }
    (std::make_integer_sequence<int, count>());
}

template <typename V>
struct tile {
    static constexpr std::int64_t lanes = V::lanes;
    std::int64_t positions, first_channel;
    typename V::mask channels;
    typename V::vector x[V::lanes]; // one for each position; beyond `positions` the last one again
};

/// f of each vector and its index.
template <typename V, typename F>
[[gnu::always_inline]] inline void for_each_vector(tile<V> &t, F f) {
    unroll<V::lanes>([&](int i) __attribute__((always_inline)) { t.x[i] = f(t.x[i], i); });
}

template <typename V>
[[gnu::always_inline]] inline void load(const float_steps_call &call, const std::int32_t *sums, tile<V> &t) {
    const auto bias = V::load_sums(call.bias ? call.bias + t.first_channel : sums + t.first_channel, t.channels);
    unroll<V::lanes>([&](int p) __attribute__((always_inline)) {
        const auto *row = sums + std::min<std::int64_t>(p, t.positions - 1) * call.channels + t.first_channel;
        auto s = V::load_sums(row, t.channels);
        if (call.bias) s = V::add(s, bias);
        t.x[p] = call.result == step_result::s32 ? V::as_float(s) : V::to_float(s);
    });
}

/// A parameter of the tile's channels.
template <typename V>
[[gnu::always_inline]] inline typename V::vector parameter(std::span<const float> values, const tile<V> &t) {
    return values.size() == 1 ? V::broadcast(values[0]) : V::load(values.data() + t.first_channel, t.channels);
}

template <typename V>
[[gnu::always_inline]] inline void apply(const float_step &step, tile<V> &t, typename V::vector (&saved)[V::lanes]) {
    using kind = float_step::kind;
    using vector = typename V::vector;
    switch (step.what) {
        case kind::multiply: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](vector x, int) { return V::multiply(x, a); });
        }
        case kind::divide: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](vector x, int) { return V::divide(x, a); });
        }
        case kind::add: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](vector x, int) { return V::add(x, a); });
        }
        case kind::clip: {
            const auto a = parameter<V>(step.a, t), b = parameter<V>(step.b, t);
            return for_each_vector<V>(t, [=](vector x, int) { return V::clip(x, a, b); });
        }
        case kind::saturate: {
            const auto a = parameter<V>(step.a, t), b = parameter<V>(step.b, t);
            return for_each_vector<V>(t, [=](vector x, int) { return V::saturate(x, a, b); });
        }
        case kind::round: return for_each_vector<V>(t, [](vector x, int) { return V::round(x); });
        case kind::leaky_relu: {
            const auto a = parameter<V>(step.a, t);
            return for_each_vector<V>(t, [=](vector x, int) { return V::leaky_relu(x, a); });
        }
        case kind::save: { // no memmove, as that would keep the tile in memory
            return for_each_vector<V>(t, [&](vector x, int i) { return saved[i] = x; });
        }
        case kind::multiply_saved: {
            return for_each_vector<V>(t, [&](vector x, int i) { return V::multiply(x, saved[i]); });
        }
    }
}

/// Stores one vector at an element of y.
template <typename V>
[[gnu::always_inline]] inline void store(
        const float_steps_call &call, std::int64_t at, const typename V::mask &mask, const typename V::vector &v) {
    if (call.result == step_result::bytes)
        V::store_bytes(static_cast<std::byte *>(call.y) + at, mask, v);
    else
        V::store(static_cast<float *>(call.y) + at, mask, v);
}

/// at: the element of y of the tile's first position and channel. channels: how many the tile has.
template <typename V>
[[gnu::always_inline]] inline void store(
        const float_steps_call &call, tile<V> &t, std::int64_t channels, std::int64_t at) {
    if (call.channel_stride == 1) {
        return unroll<V::lanes>([&](int p) __attribute__((always_inline)) {
            if (p < t.positions) store<V>(call, at + p * call.position_stride, t.channels, t.x[p]);
        });
    }
    V::transpose(t.x);
    const auto positions = V::mask_of(t.positions);
    unroll<V::lanes>([&](int c) __attribute__((always_inline)) {
        if (c < channels) store<V>(call, at + c * call.channel_stride, positions, t.x[c]);
    });
}

template <typename V>
void compute_tile(const float_steps_call &call, std::int64_t position, std::int64_t end, std::int64_t channel,
        typename V::vector (&saved)[V::lanes]) {
    tile<V> t;
    const auto channels = std::min<std::int64_t>(t.lanes, call.channels - channel);
    t.positions = std::min<std::int64_t>(t.lanes, end - position);
    t.first_channel = channel;
    t.channels = V::mask_of(channels);
    load<V>(call, call.sums + position * call.channels, t);
    for (const auto &step : call.steps)
        apply<V>(step, t, saved);
    store<V>(call, t, channels, position * call.position_stride + channel * call.channel_stride);
}

/// The inner loop runs along the dense dimension of y.
template <typename V>
void float_steps(const float_steps_call &call, std::int64_t begin, std::int64_t end) {
    typename V::vector saved[V::lanes] = {};
    if (call.channel_stride == 1) {
        for (auto p = begin; p < end; p += V::lanes)
            for (std::int64_t c = 0; c < call.channels; c += V::lanes)
                compute_tile<V>(call, p, end, c, saved);
    } else {
        for (std::int64_t c = 0; c < call.channels; c += V::lanes)
            for (auto p = begin; p < end; p += V::lanes)
                compute_tile<V>(call, p, end, c, saved);
    }
}

} // namespace
} // namespace dynquant::layers
