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
    std::uint8_t bytes[tile_capacity + 2 * widest_step];
    read_packed<V, bits, false>(tensor, first, count, bytes);
    read<V, Float>(bytes, 0, count, tile);
}

/// Rounds a tile of reals or of s32 to the division's type, in place. Rounding to odd (numerics.hpp) lets s32 be
/// rounded once.
template <typename V, typename Element, typename Division>
void to_division(const void *, std::int64_t, std::int64_t count, void *tile) {
    for (std::int64_t i = 0; i < count; i += V::lanes) {
        const auto x = V::load(static_cast<const Element *>(tile) + i);
        auto *const to = static_cast<float *>(tile) + i;
        if constexpr (std::is_same_v<Element, float>)
            V::store(to, in_division<V, Division>(x));
        else if constexpr (std::is_same_v<Division, float>)
            V::store(to, V::to_reals(x));
        else
            V::store(to, in_division<V, Division>(V::rounded_to_odd(V::to_doubles(x))));
    }
}

/// Gives each column its copy of its parameter, in place. Goes backwards, as no parameter lies beyond the column that
/// it is for.
template <typename V>
void expand(std::int64_t count, const pattern &of, void *parameters) {
    auto *const column = static_cast<float *>(parameters); // V moves any bits
    for (auto i = (count - 1) / V::lanes * V::lanes; i >= 0; i -= V::lanes)
        V::store(column + i, V::pick(column + of.first[i / V::lanes], V::load(of.index + i)));
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
    static constexpr bool is_limited = false, is_bounded = false;
};

/// Rounds to T, and saturates if T is an integer.
template <typename V, typename T>
void write_reals(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    process_row<V, false>(static_cast<const float *>(tile), static_cast<T *>(tensor) + first, count, stream, false,
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
void to_codes(const void *tile, std::int64_t count, void *to, const small_float_encoding &f) {
    process_row<V>(
            static_cast<const float *>(tile), static_cast<code *>(to), count, false, 0,
            [](std::int64_t, int) { return same<V> {}; }, &f);
}

template <typename Float, bool Saturates>
constexpr small_float_encoding encoding_of = small_float_encoding_of<Float>(Saturates || !Float::has_nan);

/// write_codes() of any encoding.
template <typename V>
[[gnu::noinline]] void write_codes_of(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream,
        const small_float_encoding &encoding) {
    if (!stream) return to_codes<V>(tile, count, static_cast<code *>(tensor) + first, encoding);
    to_codes<V>(tile, count, tile, encoding);
    stream_bytes<V>(static_cast<const std::uint8_t *>(tile), count, static_cast<std::uint8_t *>(tensor) + first);
}

template <typename V, typename Float, bool Saturates>
void write_codes(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    write_codes_of<V>(tile, count, tensor, first, stream, encoding_of<Float, Saturates>);
}

/// Floats of 4 or 6 bits.
template <typename V, typename Float, int bits>
void write_packed_codes(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream) {
    to_codes<V>(tile, count, tile, encoding_of<Float, true>);
    write_packed<V, bits, false>(tile, count, tensor, first, stream);
}

// ---- 4-bit elements by a table of their sixteen results ---------------------------------------------------

template <data_type type>
struct values_by_code {
    std::conditional_t<traits(type).integral, std::int32_t, float> of[16];
};

template <data_type type>
constexpr auto values_of_4_bits = [] {
    values_by_code<type> values = {};
    for (int code = 0; code < 16; ++code)
        if constexpr (traits(type).integral)
            values.of[code] = traits(type).is_signed && code >= 8 ? code - 16 : code;
        else
            values.of[code] = float_of<type> {static_cast<std::uint8_t>(code)}.value();
    return values;
}();

/// Looks up the last elements of a row, fewer than V::looked_up.
template <typename V, typename Results, typename T>
[[gnu::noinline]] void look_up_rest(const unsigned char *src, const Results &results, T *dst, std::int64_t count) {
    unsigned char rest[V::looked_up / 2] = {};
    alignas(64) T last[V::looked_up];
    std::memcpy(rest, src, static_cast<std::size_t>(ceil_div(count, 2)));
    store<V>(last, V::look_up(rest, results), false);
    std::memcpy(dst, last, static_cast<std::size_t>(count) * sizeof(T));
}

/// Dequantizes rows of 4-bit elements, with one parameter for each row or for all. Rows begin at a whole byte and have
/// an even number of elements. Streamed rows begin at a cache line. Steps are in elements.
template <typename V, typename Formula, typename T>
void look_up(const dense_rows &of, const prepared_parameters &with, const parameter_access &by, const auto &values) {
    constexpr std::int64_t step = V::looked_up;
    const auto d = of; // copies: byte stores cannot alias them
    const auto p = taken_by<Formula>(with);
    const auto g = by;
    const auto distance = prefetch_distance / 2;
    const auto *src = static_cast<const unsigned char *>(d.src);
    auto *dst = static_cast<T *>(d.dst);
    const auto elements = V::load(values);
    const auto row_of = [&](std::int64_t row, std::int64_t whole, bool stream) __attribute__((always_inline)) {
        const auto formula = Formula::from(broadcast<V, Formula> {p, row * g.parameter_step});
        const auto results = V::table_of(dst, formula(elements));
        for (std::int64_t i = 0; i < whole; i += step) {
            __builtin_prefetch(src + i / 2 + distance);
            store<V>(dst + i, V::look_up(src + i / 2, results), stream);
        }
        return results;
    };
    const auto src_step = d.src_step / 2, whole = d.columns / step * step;
    // Contiguous rows may overrun their ends, except for the last ones.
    const bool joined = d.src_step == d.columns && d.dst_step == d.columns && !d.stream;
    const auto last = joined ? ceil_div(step, d.columns) : d.rows;
    std::int64_t row = 0;
    for (; row < d.rows - last; ++row, src += src_step, dst += d.dst_step)
        row_of(row, d.columns <= step ? step : d.columns, false);
    for (; row < d.rows; ++row, src += src_step, dst += d.dst_step) {
        const auto results = row_of(row, whole, d.stream);
        if (whole < d.columns) look_up_rest<V>(src + whole / 2, results, dst + whole, d.columns - whole);
    }
}

// ---- The codecs of a type, by its encoding ---------------------------------------------------------------

/// Adds the codecs of a type. Formulas read f32, s32, s8, u8 and floats of 8 bits; of these floats only those that may
/// be parameters have a reader. Formulas write f32, s32, u32, s8 and u8.
template <typename V, data_type type>
constexpr void add_codecs(codecs &to) {
    constexpr auto &t = traits(type);
    if constexpr (t.integral) {
        using integer = integer_of<type>;
        if constexpr (t.bits < 8) {
            to.read[type] = to.unpack[type] = read_packed<V, t.bits, t.is_signed>;
            to.write[type] = to.write_saturated[type] = write_packed<V, t.bits, t.is_signed>;
        }
        if constexpr (t.bits == 16) to.write[type] = to.write_saturated[type] = write_reals<V, integer>;
        if constexpr (t.bits == 16 || (t.bits == 32 && !t.is_signed)) to.read[type] = read<V, integer>;
    } else if constexpr (t.bits == 16) {
        static_assert(type == data_type::f16 || type == data_type::bf16, "expected f16 or bf16, see simd.hpp");
        using real = std::conditional_t<type == data_type::f16, float16_bits, bfloat16_bits>;
        to.read[type] = read<V, real>;
        to.write[type] = write_reals<V, real>;
        to.write_saturated[type] = write_saturated_reals<V, real>;
    } else if constexpr (t.bits <= 8) {
        using real = float_of<type>;
        if constexpr (t.bits < 8) {
            to.unpack[type] = read_packed<V, t.bits, false>;
            to.read[type] = read_packed_floats<V, real, t.bits>;
            to.read_bytes[type] = read<V, real>;
            to.write[type] = to.write_saturated[type] = write_packed_codes<V, real, t.bits>;
            to.write_bytes[type] = write_packed<V, t.bits, false>;
        }
        if constexpr (t.bits == 8 && (t.places & place::onnx_scale) != 0) to.read[type] = read<V, real>;
        if constexpr (is_float8(t)) {
            to.write[type] = write_codes<V, real, false>;
            to.write_saturated[type] = write_codes<V, real, true>;
            to.write_bytes[type] = write_bytes<V>;
        }
        if constexpr (t.bits < 8 || is_float8(t)) {
            to.encodings[type] = &encoding_of<real, false>;
            to.saturating_encodings[type] = &encoding_of<real, true>;
        }
    }
}

} // namespace
} // namespace dynquant::kernels::native
