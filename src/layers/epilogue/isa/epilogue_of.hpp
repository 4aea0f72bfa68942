// The loops of epilogue.hpp over vectors V, see targets/simd.hpp. A tile of some vectors stays in registers for all
// post-ops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "elements/small_float.hpp"
#include "layers/epilogue/epilogue.hpp"
#include "layers/epilogue/isa/erf.hpp"
#include "layers/epilogue/isa/normalize.hpp"
#include "layers/epilogue/isa/sigmoid.hpp"
#include "parallel/parallel.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

/// How a tile lies. positions: each vector has another position, all have the same channels. channels: all have one
/// position, and successive channels. one_channel: all have one channel, and successive positions.
enum class tiling { positions, channels, one_channel };

/// Positions can be transposed: they are as many as a vector has lanes. Along memory a tile has 64 values, as wider
/// ones leave more of the last tile empty; four where a vector has one lane, as more is only more code.
template <typename V, tiling of>
constexpr int vectors = V::lanes == 1 ? 4
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

/// The scales or zero points of the rows of x that a vector's sums are of.
template <typename V, tiling of, typename T>
[[gnu::always_inline]] inline auto of_rows(const T *values, const epilogue &by, const tile<V, of> &t, int vector) {
    const auto position = of == tiling::positions ? std::min<std::int64_t>(vector, t.positions - 1) : 0;
    const auto *const first = values + (t.position + position) * by.row_stride;
    if constexpr (of == tiling::channels)
        if (by.first_rows) {
            const auto *const row = first + by.first_rows[t.channel / 16 + vector * V::lanes / 16];
            return by.rows_behind ? V::pick(row, V::load(by.rows_behind + t.channel + vector * V::lanes))
                                  : V::splat(*row);
        }
    return V::splat(*first);
}

/// at: the tile's first sum.
template <typename V, tiling of>
[[gnu::always_inline]] inline void load(const epilogue &by, const rows_of_sums &from, std::int64_t at, tile<V, of> &t) {
    using reals = typename V::reals;
    const auto stride = of == tiling::positions ? from.channels : V::lanes;
    const auto last = (of == tiling::positions ? t.positions - 1 : vectors<V, of> - 1) * stride;
    if (from.are_floats) {
        const auto *const floats = static_cast<const float *>(from.sums) + at;
        return for_each_vector<V, of>(
                t, [&](reals, int i) { return load_channels<V, of>(floats + std::min(i * stride, last), t); });
    }
    const auto *const sums = static_cast<const std::int32_t *>(from.sums) + at;
    for_each_vector<V, of>(
            t, [&](reals, int i) { return V::as_reals(load_channels<V, of>(sums + std::min(i * stride, last), t)); });
    if (by.bias) {
        const parameter<V, of, std::int32_t> bias(by.bias + t.channel, false, t);
        for_each_vector<V, of>(t, [&](reals x, int i) { return V::as_reals(V::add(V::as_integers(x), bias.at(i))); });
    }
    if (by.x_zero_points) {
        const parameter<V, of, std::int32_t> of_weights(by.weight_sums + t.channel, false, t);
        const auto subtract = [](reals x, auto term) { return V::as_reals(V::subtract(V::as_integers(x), term)); };
        const auto term = [&](int i) {
            return V::multiply(of_rows<V, of>(by.x_zero_points, by, t, i), of_weights.at(i));
        };
        if (by.row_stride == 0 && !of_weights.differs()) {
            const auto first = term(0);
            for_each_vector<V, of>(t, [&](reals x, int) { return subtract(x, first); });
        } else {
            for_each_vector<V, of>(t, [&](reals x, int i) { return subtract(x, term(i)); });
        }
    }
    if (by.result != result_type::s32)
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

/// Whether it is a function of many instructions.
inline bool is_curve(post_op_kind what) {
    return what == post_op_kind::erf || what == post_op_kind::tanh || what == post_op_kind::sigmoid;
}

/// A function, so that the instructions of curves are there once. The vectors of a tile are independent chains.
template <typename V, int count>
[[gnu::noinline]] void replace_by_curve(post_op_kind what, typename V::reals (&x)[count]) {
    if (what == post_op_kind::erf)
        for (auto &each : x)
            each = erf<V>(each);
    else if (what == post_op_kind::tanh)
        for (auto &each : x)
            each = tanh<V>(each);
    else
        for (auto &each : x)
            each = sigmoid<V>(each);
}

/// The commonest first post-ops, which are one pass: x * factor + summand; then its clip, or clip(x * slope + offset) *
/// x, as in HardSwish. What is left out changes no bit.
struct fused_post_ops {
    enum class ending { none, clip, product }; // none: no factor either, all post-ops are the rest

    explicit fused_post_ops(const epilogue &by)
        : rest(by.post_ops) {
        if (std::ranges::any_of(rest, is_curve, &post_op_view::what)) return; // only `none` has code for it
        const auto *multiply = next(kind::multiply);
        const bool takes_scale = by.row_stride == 0 || by.first_rows;
        if (!multiply && takes_scale && (multiply = next(kind::scale))) x_scales = by.x_scales;
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
    const float *x_scales = &no_scale; // one, or of joined rows if they are the epilogue's
    float lower = -INFINITY, upper = INFINITY, slope = 1, offset = no_summand;
    std::span<const post_op_view> rest;

  private:
    using kind = post_op_kind;
    static constexpr float no_summand = -0.0F, no_scale = 1;

    /// The next post-op, which is then no longer of the rest, if it is of this kind and has at most so many parameters.
    const post_op_view *next(kind of, std::size_t most = SIZE_MAX) {
        if (rest.empty() || rest[0].what != of || rest[0].a.size() > most) return nullptr;
        const auto *const step = rest.data();
        rest = rest.subspan(1);
        return step;
    }

    /// Whether the rest takes what was saved before it.
    bool takes_saved() const {
        const auto step = std::ranges::find_if(rest, [](const post_op_view &s) {
            return s.what == kind::save || s.what == kind::add_saved || s.what == kind::multiply_saved;
        });
        return step != rest.end() && step->what != kind::save;
    }

    void set_clip(const post_op_view &clip) {
        lower = clip.a[0];
        upper = clip.b[0];
    }

    void take_product() {
        const auto before = rest;
        const auto *const save = next(kind::save), *const multiply = next(kind::multiply, 1);
        const auto *const add = next(kind::add, 1), *const clip = next(kind::clip);
        if (!save || !add || !clip || !next(kind::multiply_saved, 0) || takes_saved()) {
            rest = before;
            return;
        }
        if (multiply) slope = multiply->a[0];
        offset = add->a[0];
        set_clip(*clip);
        what = ending::product;
    }
};

/// What these take of a tile: with tiling::one_channel it is the same for all tiles, and stays in registers.
template <typename V, tiling of>
struct fused_parameters {
    [[gnu::always_inline]] fused_parameters(const fused_post_ops &first, const tile<V, of> &t)
        : factor(first.factor, t)
        , summand(first.summand, t)
        , x_scale(V::splat(*first.x_scales))
        , lower(V::splat(first.lower))
        , upper(V::splat(first.upper))
        , slope(V::splat(first.slope))
        , offset(V::splat(first.offset)) {}

    parameter<V, of> factor, summand;
    typename V::reals x_scale, lower, upper, slope, offset;
};

template <fused_post_ops::ending what, typename V, tiling of>
[[gnu::always_inline]] inline void apply(
        const epilogue &by, const fused_post_ops &first, fused_parameters<V, of> p, tile<V, of> &t) {
    using ending = fused_post_ops::ending;
    using reals = typename V::reals;
    const auto clip = [&](reals x) { return V::min(p.upper, V::max(p.lower, x)); };
    const auto finish = [&](reals x) {
        if constexpr (what == ending::clip)
            return clip(x);
        else
            return clip(x * p.slope + p.offset) * x;
    };
    if constexpr (of == tiling::channels) // as joined rows are
        if (by.first_rows && first.x_scales == by.x_scales)
            return for_each_vector<V, of>(t, [&](reals sum, int i) {
                return finish(sum * (of_rows<V, of>(by.x_scales, by, t, i) * p.factor.at(i)) + p.summand.at(i));
            });
    for_each_vector<V, of>(
            t, [&](reals sum, int i) { return finish(sum * (p.x_scale * p.factor.at(i)) + p.summand.at(i)); });
}

template <fused_post_ops::ending what, typename V, tiling of>
[[gnu::always_inline]] inline void apply(
        const epilogue &by, const post_op_view &step, tile<V, of> &t, vectors_of_tile<V, of> &saved) {
    using kind = post_op_kind;
    using reals = typename V::reals;
    switch (step.what) {
        case kind::multiply: {
            const parameter<V, of> a(step.a, t);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x * a.at(i); });
        }
        case kind::scale: {
            const parameter<V, of> a(step.a, t);
            const auto factor = [&](int i) { return of_rows<V, of>(by.x_scales, by, t, i) * a.at(i); };
            if (by.row_stride != 0 || a.differs())
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
        case kind::add_tensor: return; // add_tensor() knows where y is
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
        case kind::erf:
        case kind::tanh:
        case kind::sigmoid: {
            if constexpr (what != fused_post_ops::ending::none) return;
            vectors_of_tile<V, of> copy; // the tile itself stays in registers for other post-ops
            for_each_vector<V, of>(t, [&](reals x, int i) { return copy[i] = x; });
            replace_by_curve<V>(step.what, copy);
            return for_each_vector<V, of>(t, [&](reals, int i) { return copy[i]; });
        }
        case kind::save: {
            // No memmove, as that would keep the tile in memory.
            return for_each_vector<V, of>(t, [&](reals x, int i) { return saved[i] = x; });
        }
        case kind::add_saved: return for_each_vector<V, of>(t, [&](reals x, int i) { return x + saved[i]; });
        case kind::multiply_saved: {
            const auto a = V::splat(step.a.empty() ? 1.0F : step.a[0]);
            return for_each_vector<V, of>(t, [&](reals x, int i) { return x * (saved[i] * a); });
        }
        case kind::look_up: {
            const auto *table = step.table.data();
            return for_each_vector<V, of>(t, [=](reals x, int) { return look_up<V>(table, x); });
        }
    }
}

template <typename V, tiling of>
constexpr bool can_be_transposed = of == tiling::positions &&V::lanes > 1;

/// Where the vectors of a tile lie in y. A tile of positions lies there transposed if y is channels first.
template <typename V, tiling of>
struct place_in_y {
    std::int64_t at, rows, stride, length; // rows: of them so many vectors are in y; length: elements of each
    bool is_transposed = false;

    /// Vector i begins at first(y)[of_vector(i)]. Along memory its distance is part of the instruction.
    template <typename T>
    [[gnu::always_inline]] T *first(T *y) const {
        return of == tiling::positions ? y : y + at;
    }
    [[gnu::always_inline]] std::int64_t of_vector(std::int64_t i) const {
        return of == tiling::positions ? at + i * stride : i * V::lanes;
    }

    /// Whether all vectors are whole.
    [[gnu::always_inline]] bool is_whole() const {
        return of != tiling::positions || (rows >= vectors<V, of> && length >= V::lanes);
    }

    /// at: the element of y of the tile's first position and channel. channels: how many each vector has.
    [[gnu::always_inline]] place_in_y(
            const rows_of_sums &y, const tile<V, of> &t, std::int64_t channels, std::int64_t first)
        : at(first)
        , rows(t.positions)
        , stride(y.position_stride)
        , length(channels) {
        if constexpr (of != tiling::positions) {
            rows = vectors<V, of>;
            stride = length = V::lanes;
        } else if constexpr (can_be_transposed<V, of>) {
            is_transposed = y.channel_stride != 1;
            if (!is_transposed) return;
            std::swap(rows, length);
            stride = y.channel_stride;
        }
    }
};

template <typename V, tiling of>
[[gnu::always_inline]] inline void add_tensor(const float *tensor, const place_in_y<V, of> &p, tile<V, of> &t) {
    using reals = typename V::reals;
    const auto some = V::first_lanes(p.length);
    const auto *const first = p.first(tensor);
    vectors_of_tile<V, of> summands;
    unroll<vectors<V, of>>([&](int i) __attribute__((always_inline)) {
        summands[i] = V::load(first + p.of_vector(std::min<std::int64_t>(i, p.rows - 1)), some);
    });
    if constexpr (can_be_transposed<V, of>)
        if (p.is_transposed) V::transpose_reals(summands);
    for_each_vector<V, of>(t, [&](reals x, int i) { return x + summands[i]; });
}

/// f stores one vector at an element from place_in_y::first() on.
template <typename V, tiling of, typename F>
[[gnu::always_inline]] inline void store_by(F f, const place_in_y<V, of> &p, tile<V, of> &t) {
    if constexpr (can_be_transposed<V, of>)
        if (p.is_transposed) V::transpose_reals(t.x);
    if (p.is_whole()) {
        const auto all = V::first_lanes(V::lanes);
        unroll<vectors<V, of>>([&](int i) __attribute__((always_inline)) { f(p.of_vector(i), all, t.x[i]); });
    } else {
        const auto some = V::first_lanes(p.length);
        unroll<vectors<V, of>>([&](int i) __attribute__((always_inline)) {
            if (i < p.rows) f(p.of_vector(i), some, t.x[i]);
        });
    }
}

template <typename V, tiling of>
[[gnu::always_inline]] inline void store(result_type result, void *y, const place_in_y<V, of> &p, tile<V, of> &t) {
    using mask = typename V::mask;
    using reals = typename V::reals;
    if (result == result_type::bytes) {
        auto *const bytes = p.first(static_cast<std::byte *>(y));
        store_by<V, of>(
                [=](std::int64_t i, const mask &m, reals x)
                        __attribute__((always_inline)) { V::store_low_bytes(bytes + i, m, V::to_integers(x)); },
                p, t);
    } else {
        auto *const floats = p.first(static_cast<float *>(y));
        store_by<V, of>(
                [=](std::int64_t i, const mask &m, reals x)
                        __attribute__((always_inline)) { V::store(floats + i, m, x); },
                p, t);
    }
}

template <typename V>
constexpr std::int64_t tile_width = vectors<V, tiling::channels> *V::lanes; // of one position

/// Applies the post-ops to positions by channels, tile by tile. The last tile may be partial with tiling::positions;
/// else channels fill whole tiles. With tiling::one_channel, the positions of the channel `plane` stand in for
/// channels.
template <fused_post_ops::ending what, typename V, tiling of>
void compute_tiles(const epilogue &by, const fused_post_ops &first, const rows_of_sums &rows, parallel::range positions,
        parallel::range channels, std::int64_t plane = 0) {
    vectors_of_tile<V, of> saved = {};
    const std::int64_t step = of == tiling::positions ? vectors<V, of> : 1,
                       width = of == tiling::positions ? V::lanes : tile_width<V>;
    constexpr bool is_fused = what != fused_post_ops::ending::none, are_shared = is_fused && of == tiling::one_channel;
    struct nothing {
        nothing(const fused_post_ops &, const tile<V, of> &) {}
    };
    // All tiles of a plane take the same parameters.
    [[maybe_unused]] const std::conditional_t<are_shared, fused_parameters<V, of>, nothing> shared(
            first, tile<V, of> {0, 0, plane, V::first_lanes(V::lanes), {}});
    for (auto p = positions.begin; p < positions.end; p += step)
        for (auto c = channels.begin; c < channels.end; c += width) {
            tile<V, of> t;
            const auto count = std::min<std::int64_t>(V::lanes, channels.end - c);
            t.position = p;
            t.positions = std::min<std::int64_t>(vectors<V, of>, positions.end - p);
            t.channel = of == tiling::one_channel ? plane : c;
            t.channels = V::first_lanes(count);
            load<V, of>(by, rows, p * rows.channels + c, t);
            if constexpr (are_shared)
                apply<what, V, of>(by, first, shared, t);
            else if constexpr (is_fused)
                apply<what, V, of>(by, first, {first, t}, t);
            const place_in_y<V, of> place(rows, t, count, p * rows.position_stride + c * rows.channel_stride);
            for (const auto &s : first.rest)
                if (s.what == post_op_kind::add_tensor)
                    add_tensor<V, of>(rows.tensor, place, t);
                else
                    apply<what, V, of>(by, s, t, saved);
            store<V, of>(by.result, rows.y, place, t);
        }
}

/// The last positions of a plane, fewer than a tile has, by copies that fill one.
template <fused_post_ops::ending what, typename V>
void compute_few(const epilogue &by, const fused_post_ops &first, const rows_of_sums &plane, std::int64_t channel) {
    alignas(64) std::byte sums[4 * tile_width<V>] = {};
    alignas(64) std::int32_t y[tile_width<V>];
    const auto count = static_cast<std::size_t>(plane.channels);
    std::memcpy(sums, plane.sums, count * 4);
    auto copy = plane;
    copy.sums = sums;
    copy.y = y;
    alignas(64) float tensor[tile_width<V>] = {};
    if (plane.tensor) {
        std::memcpy(tensor, plane.tensor, count * sizeof *tensor);
        copy.tensor = tensor;
    }
    compute_tiles<what, V, tiling::one_channel>(by, first, copy, {0, 1}, {0, tile_width<V>}, channel);
    std::memcpy(plane.y, y, count * (by.result == result_type::bytes ? 1 : sizeof *y));
}

/// Plane by plane, a tile along the positions. The last tile may compute some results twice.
template <fused_post_ops::ending what, typename V>
void compute_planes(const epilogue &by, const fused_post_ops &first, const planes_of_sums &of) {
    const auto count = of.positions, whole = count / tile_width<V> * tile_width<V>;
    for (std::int64_t c = 0; c < of.channels; ++c) {
        auto *const y = static_cast<std::byte *>(of.y) + c * of.y_stride * (by.result == result_type::bytes ? 1 : 4);
        const auto *const sums = static_cast<const std::byte *>(of.sums) + c * of.sums_stride * 4;
        const rows_of_sums plane = {
                sums, of.are_floats, count, y, 0, 1, of.tensor ? of.tensor + c * of.y_stride : nullptr};
        const auto channel = of.first_channel + c;
        if (count < tile_width<V>) {
            compute_few<what, V>(by, first, plane, channel);
            continue;
        }
        compute_tiles<what, V, tiling::one_channel>(by, first, plane, {0, 1}, {0, whole}, channel);
        if (whole < count)
            compute_tiles<what, V, tiling::one_channel>(
                    by, first, plane, {0, 1}, {count - tile_width<V>, count}, channel);
    }
}

/// The inner loop runs along the dense dimension of y: along positions where y is channels first, as the next lines of
/// all channels are in as many pages. Where channels are dense, a tile lies along them as far as it fills them: it then
/// reads and writes memory in order, and one position fills it.
template <fused_post_ops::ending what, typename V>
void compute_rows(const epilogue &by, const fused_post_ops &first, const rows_of_sums &rows, parallel::range positions,
        parallel::range channels) {
    if (rows.channel_stride != 1) {
        for (auto c = channels.begin; c < channels.end; c += V::lanes)
            compute_tiles<what, V, tiling::positions>(
                    by, first, rows, positions, {c, std::min<std::int64_t>(c + V::lanes, channels.end)});
        return;
    }
    const auto whole = (channels.end - channels.begin) / tile_width<V> * tile_width<V>,
               rest = channels.end - channels.begin - whole;
    // A tile that overlaps the previous one computes some results twice, but may replace many tiles.
    const bool overlaps = whole > 0 && rest > 0 && (positions.end - positions.begin) * V::lanes < rest;
    const auto split = channels.begin + whole;
    compute_tiles<what, V, tiling::channels>(by, first, rows, positions, {channels.begin, split});
    if (overlaps)
        compute_tiles<what, V, tiling::channels>(
                by, first, rows, positions, {channels.end - tile_width<V>, channels.end});
    else
        compute_tiles<what, V, tiling::positions>(by, first, rows, positions, {split, channels.end});
}

/// Calls f<ending>.
template <typename F>
void with_ending(fused_post_ops::ending ending, F f) {
    using enum fused_post_ops::ending;
    switch (ending) {
        case none: return f.template operator()<none>();
        case clip: return f.template operator()<clip>();
        case product: return f.template operator()<product>();
    }
}

template <typename V>
void epilogue_of_rows(const epilogue &by, const rows_of_sums &of, parallel::range positions, parallel::range channels) {
    const fused_post_ops first(by);
    with_ending(first.what,
            [&]<fused_post_ops::ending what>() { compute_rows<what, V>(by, first, of, positions, channels); });
}

template <typename V>
void epilogue_of_planes(const epilogue &by, const planes_of_sums &of) {
    const fused_post_ops first(by);
    with_ending(first.what, [&]<fused_post_ops::ending what>() { compute_planes<what, V>(by, first, of); });
}

template <typename V>
constexpr epilogue_loops epilogue_of = {epilogue_of_rows<V>, epilogue_of_planes<V>, normalize<V>};

} // namespace
} // namespace dynquant::layers
