// The loops of steps.hpp, which the compiler makes vectors of, over one primitive of an instruction set:
//     transpose(from, from_stride, to, to_stride)  8 x 8 floats
#pragma once

#include <algorithm>

#include "layers/steps/steps.hpp"

namespace dynquant::layers {
namespace {

/// A tile of floats, positions by channels, 4 KiB: steps run over it one after another while it is in L1.
constexpr std::int64_t tile_positions = 16, tile_channels = 64;

struct tile {
    std::int64_t positions, first_channel, channels;
    alignas(64) float values[tile_positions][tile_channels], saved[tile_positions][tile_channels];
};

void convert(const float_steps_call &call, const std::int32_t *sums, tile &t) {
    for (std::int64_t p = 0; p < t.positions; ++p) {
        const auto *from = sums + p * call.channels + t.first_channel;
        auto *to = t.values[p];
        if (call.bias) {
            const auto *bias = call.bias + t.first_channel;
            for (std::int64_t c = 0; c < t.channels; ++c)
                to[c] = static_cast<float>(static_cast<std::int32_t>(
                        static_cast<std::uint32_t>(from[c]) + static_cast<std::uint32_t>(bias[c])));
        } else {
            for (std::int64_t c = 0; c < t.channels; ++c)
                to[c] = static_cast<float>(from[c]);
        }
    }
}

/// f(x, a, b) of each value, where parameters of one value for all channels are broadcast.
template <typename F>
void apply(const float_step &step, tile &t, F f) {
    const bool is_one = step.a.size() == 1;
    const auto first = is_one ? 0 : static_cast<std::size_t>(t.first_channel);
    const float *a = step.a.data() + first, *b = step.b.empty() ? a : step.b.data() + first;
    for (std::int64_t p = 0; p < t.positions; ++p) {
        auto *x = t.values[p];
        if (is_one) {
            const float one = *a, other = *b;
            for (std::int64_t c = 0; c < t.channels; ++c)
                x[c] = f(x[c], one, other);
        } else {
            for (std::int64_t c = 0; c < t.channels; ++c)
                x[c] = f(x[c], a[c], b[c]);
        }
    }
}

void multiply_saved(tile &t) {
    for (std::int64_t p = 0; p < t.positions; ++p)
        for (std::int64_t c = 0; c < t.channels; ++c)
            t.values[p][c] *= t.saved[p][c];
}

void apply(const float_step &step, tile &t) {
    using kind = float_step::kind;
    switch (step.what) {
        case kind::multiply: return apply(step, t, [](float x, float a, float) { return x * a; });
        case kind::divide: return apply(step, t, [](float x, float a, float) { return x / a; });
        case kind::add: return apply(step, t, [](float x, float a, float) { return x + a; });
        case kind::clip:
            return apply(step, t, [](float x, float a, float b) {
                const float above = x < a ? a : x;
                return above > b ? b : above;
            });
        case kind::leaky_relu: return apply(step, t, [](float x, float a, float) { return x < 0 ? x * a : x; });
        case kind::save:
            for (std::int64_t p = 0; p < t.positions; ++p)
                std::copy_n(t.values[p], t.channels, t.saved[p]);
            return;
        case kind::multiply_saved: return multiply_saved(t);
    }
}

/// Where channels of y are dense, rows are copied; where positions are, the tile is transposed.
template <typename V>
void store(const float_steps_call &call, const tile &t, float *y) {
    if (call.channel_stride == 1) {
        for (std::int64_t p = 0; p < t.positions; ++p)
            std::copy_n(t.values[p], t.channels, y + p * call.position_stride);
        return;
    }
    const auto whole_positions = t.positions / 8 * 8, whole_channels = t.channels / 8 * 8;
    for (std::int64_t c = 0; c < whole_channels; c += 8)
        for (std::int64_t p = 0; p < whole_positions; p += 8)
            V::transpose(&t.values[p][c], tile_channels, y + c * call.channel_stride + p, call.channel_stride);
    for (std::int64_t c = 0; c < t.channels; ++c)
        for (auto p = c < whole_channels ? whole_positions : 0; p < t.positions; ++p)
            y[c * call.channel_stride + p] = t.values[p][c];
}

template <typename V>
void float_steps(const float_steps_call &call, std::int64_t begin, std::int64_t end) {
    tile t;
    for (auto p = begin; p < end; p += tile_positions)
        for (std::int64_t c = 0; c < call.channels; c += tile_channels) {
            t.positions = std::min(tile_positions, end - p);
            t.first_channel = c;
            t.channels = std::min(tile_channels, call.channels - c);
            convert(call, call.sums + p * call.channels, t);
            for (const auto &step : call.steps)
                apply(step, t);
            store<V>(call, t, call.y + p * call.position_stride + c * call.channel_stride);
        }
}

} // namespace
} // namespace dynquant::layers
