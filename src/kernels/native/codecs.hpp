// Codecs: convert dense elements of every type in memory to and from tiles of 32-bit numbers or bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/native/loops.hpp"
#include "kernels/native/packed.hpp"
#include "kernels/native/small_floats.hpp"

namespace dynquant::kernels::native {
namespace {

// ---- Read ------------------------------------------------------------------------------------------------

template <typename V, typename T>
void read(const void *tensor, std::int64_t first, std::int64_t count, void *tile) {
    constexpr std::int64_t n = V::lanes, line = 64 / std::int64_t {sizeof(T)};
    const auto *from = static_cast<const T *>(tensor) + first;
    auto *to = static_cast<std::conditional_t<std::is_integral_v<T>, std::int32_t, float> *>(tile);
    const auto distance = prefetch_distance;
    std::int64_t i = 0;
    for (; n > 1 && i + line <= count; i += line) {
        __builtin_prefetch(reinterpret_cast<const char *>(from + i) + distance);
#pragma GCC unroll 8
        for (std::int64_t k = i; k < i + line; k += n)
            V::store(to + k, load<V>(from + k));
    }
    for (; i + n <= count; i += n)
        V::store(to + i, load<V>(from + i));
    if (i < count) V::store(to + i, load_partial<V>(from + i, count - i));
}

/// Floats of 4 or 6 bits.
template <typename V, typename Float, int bits>
void read_packed_floats(const void *tensor, std::int64_t first, std::int64_t count, void *tile) {
    std::uint8_t bytes[tile_capacity + 2 * widest_block];
    read_packed<V, bits, false>(tensor, first, count, bytes);
    read<V, Float>(bytes, 0, count, tile);
}

/// Rounds reals to the division's type.
template <typename V, typename Division>
void round(const void *, std::int64_t, std::int64_t count, void *tile) {
    auto *x = static_cast<float *>(tile);
    for (std::int64_t i = 0; i < count; i += V::lanes)
        V::store(x + i, in_division<V, Division>(V::load(x + i)));
}

/// Gives each column its copy of its parameter, in place. Goes backwards, as no parameter lies beyond the column that
/// it is for.
template <typename V>
void expand(std::int64_t count, const pattern &runs, float *column) {
    for (auto i = (count - 1) / V::lanes * V::lanes; i >= 0; i -= V::lanes)
        V::store(column + i, V::pick(column + runs.first[i / V::lanes], V::load(runs.index + i)));
}

// ---- Write -----------------------------------------------------------------------------------------------

/// Copies bytes by non-temporal stores.
template <typename V>
void stream_bytes(const std::uint8_t *from, std::int64_t count, std::uint8_t *to) {
    constexpr std::int64_t size = V::lanes * 4;
    const auto copy = [=](std::int64_t i, std::int64_t end) {
        std::memcpy(to + i, from + i, static_cast<std::size_t>(end - i));
    };
    auto i = unaligned_head<64>(to, count);
    copy(0, i);
    for (; i + size <= count; i += size) {
        typename V::integers bytes;
        std::memcpy(&bytes, from + i, sizeof(bytes));
        V::stream(to + i, bytes);
    }
    copy(i, count);
}

template <typename V>
void write_bytes(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    const auto *const from = static_cast<const std::uint8_t *>(tile);
    auto *const to = static_cast<std::uint8_t *>(tensor) + first;
    if (stream) return stream_bytes<V>(from, count, to);
    std::memcpy(to, from, static_cast<std::size_t>(count));
}

/// The identity, for codecs that only convert.
template <typename V>
struct same {
    typename V::reals operator()(typename V::reals x) const { return x; }
    static constexpr bool is_limited = false;
    signed_magnitude<V> parts(typename V::reals x) const { return {V::abs(x), x}; }
};

/// Rounds to T, and saturates if T is an integer.
template <typename V, typename T>
void write_reals(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    run<V, false>(static_cast<const float *>(tile), static_cast<T *>(tensor) + first, count, stream, false,
            [](std::int64_t) { return same<V> {}; });
}

/// Limits magnitudes, infinity included, to the largest finite number of T, then rounds.
template <typename V, typename T>
void write_saturated_reals(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    const auto highest = V::splat(std::is_same_v<T, float16_bits> ? 65504.0F : 0x1.fep127F);
    auto *const reals = static_cast<float *>(tile);
    for (std::int64_t i = 0; i < count; i += V::lanes) {
        const auto x = V::load(reals + i);
        V::store(reals + i, V::copy_sign(V::min(highest, V::abs(x)), x));
    }
    write_reals<V, T>(tile, count, tensor, first, stream);
}

/// Writes codes of a narrow float. `to` may be the tile: each element is read before its bytes are overwritten.
template <typename V>
void to_codes(const void *tile, std::int64_t count, void *to, const float8_format &f) {
    run<V, false>(
            static_cast<const float *>(tile), static_cast<code *>(to), count, false, false,
            [](std::int64_t) { return same<V> {}; }, &f);
}

inline float8_format format_of(data_type type, bool saturates) {
    if (type == data_type::f4_e2m1) return float8_format_of<float4_e2m1>(true);
    if (type == data_type::f6_e2m3) return float8_format_of<float6_e2m3>(true);
    if (type == data_type::f6_e3m2) return float8_format_of<float6_e3m2>(true);
    if (type == data_type::f8_e4m3) return float8_format_of<float8_e4m3>(saturates);
    if (type == data_type::f8_e5m2) return float8_format_of<float8_e5m2>(saturates);
    if (type == data_type::f8_e4m3fnuz) return float8_format_of<float8_e4m3fnuz>(saturates);
    return float8_format_of<float8_e5m2fnuz>(saturates);
}

/// write_codes() of any format.
template <typename V>
[[gnu::noinline]] void write_codes_of(
        void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream, const float8_format &format) {
    if (!stream) return to_codes<V>(tile, count, static_cast<code *>(tensor) + first, format);
    to_codes<V>(tile, count, tile, format);
    stream_bytes<V>(static_cast<const std::uint8_t *>(tile), count, static_cast<std::uint8_t *>(tensor) + first);
}

template <typename V, typename Float, bool Saturates>
void write_codes(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    static constexpr auto format = float8_format_of<Float>(Saturates);
    write_codes_of<V>(tile, count, tensor, first, stream, format);
}

/// Floats of 4 or 6 bits.
template <typename V, typename Float, int bits>
void write_packed_codes(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    static constexpr auto format = float8_format_of<Float>(true);
    to_codes<V>(tile, count, tile, format);
    write_packed<V, bits, false>(tile, count, tensor, first, stream);
}

// ---- 4-bit elements by a table of their sixteen results ---------------------------------------------------

constexpr std::int32_t u4_values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::int32_t s4_values[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
constexpr float f4_values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

/// Looks up the last elements of a row, fewer than V::looked_up.
template <typename V, typename Results, typename T>
[[gnu::noinline]] void look_up_rest(const unsigned char *src, const Results &results, T *dst, std::int64_t count) {
    unsigned char rest[V::looked_up / 2] = {};
    alignas(64) T last[V::looked_up];
    std::memcpy(rest, src, static_cast<std::size_t>((count + 1) / 2));
    store<V>(last, V::look_up(rest, results), false);
    std::memcpy(dst, last, static_cast<std::size_t>(count) * sizeof(T));
}

/// Dequantizes rows of 4-bit elements, with one parameter for each row or for all. Rows begin at a whole byte and have
/// an even number of elements. Streamed rows begin at a cache line. Steps are in elements.
template <typename V, typename Formula, typename T>
void look_up(const block &of, const columns &with, const guide &by, const auto &values) {
    constexpr std::int64_t step = V::looked_up;
    const auto b = of; // copies: byte stores cannot alias them
    const auto c = with;
    const auto g = by;
    const auto distance = prefetch_distance / 2;
    const auto *src = static_cast<const unsigned char *>(b.src);
    auto *dst = static_cast<T *>(b.dst);
    const auto elements = V::load(values);
    const auto row_of = [&](std::int64_t row, std::int64_t whole, bool stream) __attribute__((always_inline)) {
        const auto formula = Formula::from(broadcast<V> {c, row * g.parameter_step});
        const auto results = V::table_of(dst, formula(elements));
        for (std::int64_t i = 0; i < whole; i += step) {
            __builtin_prefetch(src + i / 2 + distance);
            store<V>(dst + i, V::look_up(src + i / 2, results), stream);
        }
        return results;
    };
    const auto src_step = b.src_step / 2, whole = b.columns / step * step;
    // Contiguous rows may overrun their ends, except for the last ones.
    const bool joined = b.src_step == b.columns && b.dst_step == b.columns && !b.stream;
    const auto last = joined ? (step + b.columns - 1) / b.columns : b.rows;
    std::int64_t row = 0;
    for (; row < b.rows - last; ++row, src += src_step, dst += b.dst_step)
        row_of(row, b.columns <= step ? step : b.columns, false);
    for (; row < b.rows; ++row, src += src_step, dst += b.dst_step) {
        const auto results = row_of(row, whole, b.stream);
        if (whole < b.columns) look_up_rest<V>(src + whole / 2, results, dst + whole, b.columns - whole);
    }
}

template <typename V, typename T>
void look_up_u4(const block &b, const columns &c, const guide &g) {
    look_up<V, narrow_difference<V>, T>(b, c, g, u4_values);
}
template <typename V, typename T>
void look_up_s4(const block &b, const columns &c, const guide &g) {
    look_up<V, narrow_difference<V>, T>(b, c, g, s4_values);
}
template <typename V, typename T>
void look_up_f4(const block &b, const columns &c, const guide &g) {
    look_up<V, float_difference<V>, T>(b, c, g, f4_values);
}

} // namespace
} // namespace dynquant::kernels::native
