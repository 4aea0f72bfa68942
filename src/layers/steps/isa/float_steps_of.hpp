// The loops of steps.hpp over vectors V, see targets/simd.hpp. A tile of some vectors stays in registers for all steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "elements/small_float.hpp"
#include "layers/steps/steps.hpp"
#include "parallel/parallel.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

/// What a tile's vectors are: one for each position, of the same channels; one after another of one position; or the
/// same of one plane.
enum class tiling { positions, channels, one_channel };

/// Positions can be transposed: they are as many as a vector has lanes. Along memory a tile has 64 values, as wider
/// ones leave more of the last tile empty; eight where a vector has one lane.
template <typename V, tiling of>
constexpr int vectors = V::lanes == 1 ? 8
        : of == tiling::positions     ? V::lanes
                                      : 64 / V::lanes;

template <typename V, tiling of>
using vectors_of_tile = typename V::reals[vectors<V, of>];

template <typename V, tiling of>
struct tile {
    std::int64_t position, positions, channel; // position, channel: the first ones, those of parameters
    typename V::mask channels;                 // of each vector of positions
    vectors_of_tile<V, of> x;                  // beyond `positions` the last one again
};

/// f of each vector and its index.
template <typename V, tiling of, typename F>
[[gnu::always_inline]] inline void for_each_vector(tile<V, of> &t, F f) {
    unroll<vectors<V, of>>([&](int i) __attribute__((always_inline)) { t.x[i] = f(t.x[i], i); });
}

/// Elements of a vector's channels. Vectors along channels are whole.
template <typename V, tiling of, typename T>
[[gnu::always_inline]] inline auto load_channels(const T *p, const tile<V, of> &t) {
    if constexpr (of == tiling::positions)
        return V::load(p, t.channels);
    else
        return V::load(p);
}

/// A parameter of the tile's channels: the same for all vectors, or one for each where these are channels.
template <typename V, tiling of, typename T = float>
class parameter {
  public:
    [[gnu::always_inline]] parameter(const T *values, bool is_one, const tile<V, of> &t)
        : first_(is_one || of == tiling::one_channel ? V::splat(*values) : load_channels(values, t))
        , others_(of == tiling::channels && !is_one ? values : nullptr) {}
    [[gnu::always_inline]] parameter(std::span<const float> values, const tile<V, of> &t)
        : parameter(values.data() + (values.size() == 1 ? 0 : t.channel), values.size() == 1, t) {}

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
    const auto position = of == tiling::positions ? std::min<std::int64_t>(vector, t.positions - 1) : 0;
    return (t.position + position) * call.row_stride;
}

/// sums: the tile's first one.
template <typename V, tiling of>
[[gnu::always_inline]] inline void load(const float_steps_call &call, const std::int32_t *sums, tile<V, of> &t) {
    using reals = typename V::reals;
    const auto stride = of == tiling::positions ? call.channels : V::lanes;
    const auto last = (of == tiling::positions ? t.positions - 1 : vectors<V, of> - 1) * stride;
    if (call.of_floats) {
        const auto *const floats = reinterpret_cast<const float *>(sums);
        return for_each_vector<V, of>(
                t, [&](reals, int i) { return load_channels<V, of>(floats + std::min(i * stride, last), t); });
    }
    for_each_vector<V, of>(
            t, [&](reals, int i) { return V::as_reals(load_channels<V, of>(sums + std::min(i * stride, last), t)); });
    if (call.bias) {
        const parameter<V, of, std::int32_t> bias(call.bias + t.channel, false, t);
        for_each_vector<V, of>(t, [&](reals x, int i) { return V::as_reals(V::add(V::as_integers(x), bias.at(i))); });
    }
    if (call.x_zero_points) {
        const parameter<V, of, std::int32_t> of_weights(call.weight_sums + t.channel, false, t);
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

/// The commonest first steps, which are one pass: x * factor + summand; then its clip, or clip(x * slope + offset) * x,
/// as in HardSwish, which may be divided. What is left out changes no bit.
struct first_steps {
    enum class ending { none, clip, product, quotient }; // none: no factor either, all steps are the rest

    explicit first_steps(const float_steps_call &call)
        : rest(call.steps) {
        const auto *multiply = next(kind::multiply);
        if (!multiply && call.row_stride == 0 && (multiply = next(kind::scale))) x_scale = *call.x_scales;
        if (!multiply) return;
        what = ending::clip;
        factor = multiply->a;
        if (const auto *add = next(kind::add)) summand = add->a;
        const auto *const bounds = next(kind::clip);
        if (bounds)
            set_clip(*bounds);
        else
            take_product();
    }

    ending what = ending::none;
    std::span<const float> factor, summand {&no_summand, 1};
    float x_scale = 1, lower = -INFINITY, upper = INFINITY, slope = 1, offset = no_summand, divisor = 1;
    std::span<const float_step> rest;

  private:
    using kind = float_step::kind;
    static constexpr float no_summand = -0.0F;

    /// The next step, which is then no longer of the rest, if it is of this kind and has at most so many parameters.
    const float_step *next(kind of, std::size_t most = SIZE_MAX) {
        if (rest.empty() || rest[0].what != of || rest[0].a.size() > most) return nullptr;
        const auto *const step = rest.data();
        rest = rest.subspan(1);
        return step;
    }

    void set_clip(const float_step &clip) {
        lower = clip.a[0];
        upper = clip.b[0];
    }

    void take_product() {
        const auto before = rest;
        const auto *const save = next(kind::save), *const multiply = next(kind::multiply, 1);
        const auto *const add = next(kind::add, 1), *const clip = next(kind::clip);
        if (!save || !add || !clip || !next(kind::multiply_saved)) {
            rest = before;
            return;
        }
        if (multiply) slope = multiply->a[0];
        offset = add->a[0];
        set_clip(*clip);
        const auto *const divide = next(kind::divide, 1);
        what = divide ? ending::quotient : ending::product;
        if (divide) divisor = divide->a[0];
    }
};

template <first_steps::ending what, typename V, tiling of>
[[gnu::always_inline]] inline void apply(const first_steps &first, tile<V, of> &t) {
    using ending = first_steps::ending;
    const parameter<V, of> factor(first.factor, t), summand(first.summand, t);
    const auto x_scale = V::splat(first.x_scale), lower = V::splat(first.lower), upper = V::splat(first.upper);
    const auto slope = V::splat(first.slope), offset = V::splat(first.offset), divisor = V::splat(first.divisor);
    const auto clip = [=](typename V::reals x) { return V::min(upper, V::max(lower, x)); };
    for_each_vector<V, of>(t, [&](typename V::reals sum, int i) {
        const auto x = sum * (x_scale * factor.at(i)) + summand.at(i);
        if constexpr (what == ending::clip) return clip(x);
        const auto product = clip(x * slope + offset) * x;
        if constexpr (what == ending::quotient)
            return product / divisor;
        else
            return product;
    });
}

template <typename V, tiling of>
[[gnu::always_inline]] inline void apply(
        const float_steps_call &call, const float_step &step, tile<V, of> &t, vectors_of_tile<V, of> &saved) {
    using kind = float_step::kind;
    using reals = typename V::reals;
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
    if constexpr (of != tiling::positions) {
        rows = vectors<V, of>;
        stride = length = V::lanes;
    } else if constexpr (V::lanes > 1) {
        if (call.channel_stride != 1) {
            V::transpose_reals(t.x);
            std::swap(rows, length);
            stride = call.channel_stride;
        }
    }
    if (rows >= vectors<V, of> && length >= V::lanes) {
        const auto all = V::first_lanes(V::lanes);
        unroll<vectors<V, of>>([&](int i) __attribute__((always_inline)) { f(at + i * stride, all, t.x[i]); });
    } else {
        const auto some = V::first_lanes(length);
        unroll<vectors<V, of>>([&](int i) __attribute__((always_inline)) {
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

template <typename V>
constexpr std::int64_t tile_width = vectors<V, tiling::channels> *V::lanes; // of one position

/// Positions or channels are as many as a tile has, or its multiple, but for the last ones of tiling::positions.
template <first_steps::ending what, typename V, tiling of>
void compute_tiles(
        const float_steps_call &call, const first_steps &first, parallel::range positions, parallel::range channels) {
    vectors_of_tile<V, of> saved = {};
    const std::int64_t step = of == tiling::positions ? vectors<V, of> : 1,
                       width = of == tiling::positions ? V::lanes : tile_width<V>;
    for (auto c = channels.begin; c < channels.end; c += width)
        for (auto p = positions.begin; p < positions.end; p += step) {
            tile<V, of> t;
            const auto count = std::min<std::int64_t>(V::lanes, channels.end - c);
            t.position = p;
            t.positions = std::min<std::int64_t>(vectors<V, of>, positions.end - p);
            t.channel = of == tiling::one_channel ? call.first_channel : c;
            t.channels = V::first_lanes(count);
            load<V, of>(call, call.sums + p * call.channels + c, t);
            if constexpr (what != first_steps::ending::none) apply<what, V, of>(first, t);
            for (const auto &s : first.rest)
                apply<V, of>(call, s, t, saved);
            store<V, of>(call, t, count, p * call.position_stride + c * call.channel_stride);
        }
}

/// The last positions of a channel, fewer than a tile has, by copies that fill one.
template <first_steps::ending what, typename V>
void compute_few(const float_steps_call &call, const first_steps &first) {
    alignas(64) std::int32_t sums[tile_width<V>] = {}, y[tile_width<V>];
    const auto count = static_cast<std::size_t>(call.channels);
    std::memcpy(sums, call.sums, count * sizeof *sums);
    auto copy = call;
    copy.sums = sums;
    copy.y = y;
    compute_tiles<what, V, tiling::one_channel>(copy, first, {0, 1}, {0, tile_width<V>});
    std::memcpy(call.y, y, count * (call.result == step_result::bytes ? 1 : sizeof *y));
}

/// Channel by channel, a tile along the positions. The last tile may compute some results twice.
template <first_steps::ending what, typename V>
void compute_planes(float_steps_call call, const first_steps &first, parallel::range channels) {
    const auto count = call.channels, whole = count / tile_width<V> * tile_width<V>;
    const auto all = call;
    call.channel_stride = 1; // of positions
    for (auto c = channels.begin; c < channels.end; ++c) {
        call.sums = all.sums + c * all.plane;
        call.y = static_cast<std::byte *>(all.y) + c * all.channel_stride * (all.result == step_result::bytes ? 1 : 4);
        call.first_channel = all.first_channel + c;
        if (count < tile_width<V>) {
            compute_few<what, V>(call, first);
            continue;
        }
        compute_tiles<what, V, tiling::one_channel>(call, first, {0, 1}, {0, whole});
        if (whole < count)
            compute_tiles<what, V, tiling::one_channel>(call, first, {0, 1}, {count - tile_width<V>, count});
    }
}

/// The inner loop runs along the dense dimension of y. Where that is the channels, a tile lies along them as far as it
/// fills them: it then reads and writes memory in order, and one position fills it.
template <first_steps::ending what, typename V>
void compute_all(const float_steps_call &call, const first_steps &first, parallel::range positions) {
    if (call.plane != 0) return compute_planes<what, V>(call, first, positions);
    const parallel::range all {0, call.channels};
    if (call.channel_stride != 1) return compute_tiles<what, V, tiling::positions>(call, first, positions, all);
    const auto whole = call.channels / tile_width<V> * tile_width<V>, rest = call.channels - whole;
    // A tile that overlaps the previous one computes some results twice, but may replace many tiles.
    const bool overlaps = whole > 0 && rest > 0 && (positions.end - positions.begin) * V::lanes < rest;
    for (auto p = positions.begin; p < positions.end; ++p) {
        compute_tiles<what, V, tiling::channels>(call, first, {p, p + 1}, {0, whole});
        if (overlaps)
            compute_tiles<what, V, tiling::channels>(
                    call, first, {p, p + 1}, {call.channels - tile_width<V>, call.channels});
    }
    if (!overlaps) compute_tiles<what, V, tiling::positions>(call, first, positions, {whole, call.channels});
}

template <typename V>
void float_steps(const float_steps_call &call, std::int64_t begin, std::int64_t end) {
    using ending = first_steps::ending;
    const first_steps first(call);
    switch (first.what) {
        case ending::none: return compute_all<ending::none, V>(call, first, {begin, end});
        case ending::clip: return compute_all<ending::clip, V>(call, first, {begin, end});
        case ending::product: return compute_all<ending::product, V>(call, first, {begin, end});
        case ending::quotient: return compute_all<ending::quotient, V>(call, first, {begin, end});
    }
}

template <typename V>
constexpr float_steps_function float_steps_of = float_steps<V>;

} // namespace
} // namespace dynquant::layers
