// The range of each block of src: the first step of computed scales. Written once over vectors of `bytes` bytes; each
// operation compiles to one instruction where the instruction set has it.
//
// The sign is the highest bit of a float, so one signed and one unsigned integer maximum find both bounds:
//   high: the signed maximum, from 0 on. Non-negative floats sort by their bits; negative ones are less than 0.
//   low:  the unsigned maximum, from -0 on. Negative floats sort by their magnitude; others are less than -0.
// NaN is beyond infinity in either order, so it stays. A maximum may read an element twice: remainders overlap.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/native/loops.hpp"

namespace dynquant::kernels::native {
namespace {

/// Bits of f32 (Bits = std::uint32_t), f16 or bf16 (std::uint16_t).
template <int bytes, typename Bits>
struct range_of {
    static constexpr std::int64_t lanes = bytes / static_cast<int>(sizeof(Bits));
    using integer = std::conditional_t<sizeof(Bits) == 4, std::int32_t, std::int16_t>;
    using signed_vector [[gnu::vector_size(bytes)]] = integer;
    using unsigned_vector [[gnu::vector_size(bytes)]] = Bits;

    unsigned_vector low, high;

    [[gnu::always_inline]] static unsigned_vector load(const Bits *p) {
        unsigned_vector v;
        std::memcpy(&v, p, sizeof v);
#if defined(__x86_64__)
        asm("" : "+x"(v)); // in a register: else compilers load it for each maximum
#endif
        return v;
    }
    [[gnu::always_inline]] static unsigned_vector greater(unsigned_vector a, unsigned_vector b) {
        return a > b ? a : b;
    }
    [[gnu::always_inline]] static unsigned_vector greater_signed(unsigned_vector a, unsigned_vector b) {
        const auto first = reinterpret_cast<signed_vector>(a), second = reinterpret_cast<signed_vector>(b);
        return reinterpret_cast<unsigned_vector>(first > second ? first : second);
    }
    [[gnu::always_inline]] static range_of none() {
        return {unsigned_vector {} + (Bits {1} << (8 * sizeof(Bits) - 1)), unsigned_vector {}};
    }
    [[gnu::always_inline]] void add(unsigned_vector x) {
        low = greater(low, x);
        high = greater_signed(high, x);
    }
    [[gnu::always_inline]] void add(const range_of &other) {
        low = greater(low, other.low);
        high = greater_signed(high, other.high);
    }
};

template <int step, typename Vector, std::size_t... lane>
[[gnu::always_inline]] inline Vector rotated(Vector v, std::index_sequence<lane...>) {
    return __builtin_shufflevector(v, v, static_cast<int>((lane + step) % sizeof...(lane))...);
}

/// The range of all lanes, in lane 0.
template <int bytes, typename Bits>
[[gnu::always_inline]] inline range_of<16, Bits> across_lanes(range_of<bytes, Bits> r) {
    if constexpr (bytes > 16) {
        using half = range_of<bytes / 2, Bits>;
        half halves[2][2];
        std::memcpy(&halves[0][0].low, &r.low, sizeof r.low / 2);
        std::memcpy(&halves[0][1].low, reinterpret_cast<const char *>(&r.low) + bytes / 2, bytes / 2);
        std::memcpy(&halves[0][0].high, &r.high, sizeof r.high / 2);
        std::memcpy(&halves[0][1].high, reinterpret_cast<const char *>(&r.high) + bytes / 2, bytes / 2);
        halves[0][0].add(halves[0][1]);
        return across_lanes<bytes / 2, Bits>(halves[0][0]);
    } else {
        constexpr auto all = std::make_index_sequence<16 / sizeof(Bits)>();
        const auto fold = [&]<int step>(std::integral_constant<int, step>) {
            r.add({rotated<step>(r.low, all), rotated<step>(r.high, all)});
        };
        if constexpr (sizeof(Bits) == 2) fold(std::integral_constant<int, 4>());
        fold(std::integral_constant<int, 2>());
        fold(std::integral_constant<int, 1>());
        return r;
    }
}

template <typename Bits>
struct scalar_range {
    Bits low, high;

    void add(Bits x) {
        using integer = typename range_of<16, Bits>::integer;
        low = x > low ? x : low;
        high = static_cast<integer>(x) > static_cast<integer>(high) ? x : high;
    }
};

/// Adds a dense row.
template <int bytes, typename Bits>
[[gnu::always_inline]] inline void add_row(const Bits *x, std::int64_t count, scalar_range<Bits> &to) {
    using range = range_of<bytes, Bits>;
    constexpr auto lanes = range::lanes;
    if (count >= lanes) {
        auto a = range::none(), b = a, c = a, d = a;
        std::int64_t i = 0;
        for (; i + 4 * lanes <= count; i += 4 * lanes) {
            for (int line = 0; line < 4 * bytes; line += 64)
                __builtin_prefetch(reinterpret_cast<const char *>(x + i) + prefetch_distance + line);
            a.add(range::load(x + i));
            b.add(range::load(x + i + lanes));
            c.add(range::load(x + i + 2 * lanes));
            d.add(range::load(x + i + 3 * lanes));
        }
        for (; i + lanes <= count; i += lanes)
            a.add(range::load(x + i));
        if (i < count) b.add(range::load(x + count - lanes));
        a.add(b), c.add(d), a.add(c);
        const auto all = across_lanes(a);
        to.add(all.low[0]), to.add(all.high[0]);
    } else if constexpr (bytes > 16) {
        add_row<bytes / 2>(x, count, to);
    } else {
        for (std::int64_t i = 0; i < count; ++i)
            to.add(x[i]);
    }
}

/// Merges vectors of as many rows as there are lanes to one vector that has the range of each row in a lane. Each merge
/// halves what is left of two vectors: first words of 128-bit lanes are interleaved, then 128-bit lanes are joined.
template <int bytes, typename Bits>
struct rows_to_lanes {
    using range = range_of<bytes, Bits>;
    static constexpr int lanes = static_cast<int>(range::lanes), of_128 = 16 / static_cast<int>(sizeof(Bits));

    /// The lane of the pair (a, b) that is lane i of the lower or upper halves. Each vector has `count` rows.
    static constexpr int lane_of(int i, bool upper, int count) {
        const int block = i / of_128, within = i % of_128;
        if (count < of_128) return block * of_128 + within / 2 + (upper ? of_128 / 2 : 0) + within % 2 * lanes;
        return (block / 2 + (upper ? lanes / of_128 / 2 : 0)) * of_128 + within + block % 2 * lanes;
    }

    /// The vector of each lane after all merges: row i belongs into vector row[i], so that its range ends in lane i.
    struct order {
        int row[lanes];
    };
    static constexpr order merged_order(int first, int count) {
        order result = {};
        if (count == 1) {
            for (int &row : result.row)
                row = first;
            return result;
        }
        const auto a = merged_order(first, count / 2), b = merged_order(first + count / 2, count / 2);
        for (int i = 0; i < lanes; ++i) {
            const int from = lane_of(i, false, count / 2);
            result.row[i] = from < lanes ? a.row[from] : b.row[from - lanes];
        }
        return result;
    }
    template <int count, typename Vector, std::size_t... lane>
    [[gnu::always_inline]] static Vector half(
            Vector a, Vector b, std::bool_constant<false>, std::index_sequence<lane...>) {
        return __builtin_shufflevector(a, b, lane_of(static_cast<int>(lane), false, count)...);
    }
    template <int count, typename Vector, std::size_t... lane>
    [[gnu::always_inline]] static Vector half(
            Vector a, Vector b, std::bool_constant<true>, std::index_sequence<lane...>) {
        return __builtin_shufflevector(a, b, lane_of(static_cast<int>(lane), true, count)...);
    }

    /// Merges `count` vectors, from `first` on. Vectors, not structs of them: g++ 12 copies these in 16-byte pieces.
    template <int first, int count, auto greater>
    [[gnu::always_inline]] static typename range::unsigned_vector merge(const typename range::unsigned_vector *rows) {
        if constexpr (count == 1) {
            return rows[first];
        } else {
            constexpr auto all = std::make_index_sequence<static_cast<std::size_t>(lanes)>();
            const auto a = merge<first, count / 2, greater>(rows);
            const auto b = merge<first + count / 2, count / 2, greater>(rows);
            return greater(half<count / 2>(a, b, std::false_type(), all), half<count / 2>(a, b, std::true_type(), all));
        }
    }
};

/// As many rows as there are lanes, each of at least a vector.
template <int bytes, typename Bits>
[[gnu::noinline]] void add_short_rows(const Bits *x, std::int64_t step, std::int64_t columns, Bits *low, Bits *high) {
    using range = range_of<bytes, Bits>;
    using merger = rows_to_lanes<bytes, Bits>;
    static constexpr auto place = merger::merged_order(0, merger::lanes);
    typename range::unsigned_vector lows[merger::lanes], highs[merger::lanes];
    for (int i = 0; i < merger::lanes; ++i) {
        const auto *const row = x + i * step;
        auto r = range::none();
        std::int64_t j = 0;
        for (; j + range::lanes <= columns; j += range::lanes) {
            __builtin_prefetch(reinterpret_cast<const char *>(row + j) + prefetch_distance);
            r.add(range::load(row + j));
        }
        if (j < columns) r.add(range::load(row + columns - range::lanes));
        lows[place.row[i]] = r.low;
        highs[place.row[i]] = r.high;
    }
    const auto least = merger::template merge<0, merger::lanes, range::greater>(lows);
    const auto greatest = merger::template merge<0, merger::lanes, range::greater_signed>(highs);
    const auto all_low = range::greater(least, range::load(low));
    const auto all_high = range::greater_signed(greatest, range::load(high));
    std::memcpy(low, &all_low, bytes);
    std::memcpy(high, &all_high, bytes);
}

/// Adds rows of consecutive parameters by add_short_rows(). Returns how many it has added.
template <int bytes, typename Bits>
std::int64_t add_groups(const Bits *x, const block &b, Bits *low, Bits *high) {
    constexpr auto lanes = range_of<bytes, Bits>::lanes;
    std::int64_t i = 0;
    if (b.columns >= lanes) {
        for (; i + lanes <= b.rows; i += lanes)
            add_short_rows<bytes>(x + i * b.src_step, b.src_step, b.columns, low + i, high + i);
    } else if constexpr (bytes > 16) {
        return add_groups<bytes / 2>(x, b, low, high);
    }
    return i;
}

/// b.src has `b.rows` rows. Row i belongs to parameter i * parameter_step.
template <int bytes, typename Bits>
void add_rows(const block &b, std::int64_t parameter_step, void *low, void *high) {
    auto *const lows = static_cast<Bits *>(low), *const highs = static_cast<Bits *>(high);
    const auto *const x = static_cast<const Bits *>(b.src);
    const bool are_short = b.columns < 8 * range_of<bytes, Bits>::lanes && parameter_step == 1;
    for (auto i = are_short ? add_groups<bytes>(x, b, lows, highs) : 0; i < b.rows; ++i) {
        scalar_range<Bits> range = {lows[i * parameter_step], highs[i * parameter_step]};
        add_row<bytes>(x + i * b.src_step, b.columns, range);
        lows[i * parameter_step] = range.low;
        highs[i * parameter_step] = range.high;
    }
}

/// Adds `rows` rows of `count` vectors' columns.
template <int bytes, int count, typename Bits>
[[gnu::always_inline]] inline void add_strip(
        const Bits *x, std::int64_t rows, std::int64_t step, Bits *low, Bits *high) {
    using range = range_of<bytes, Bits>;
    range strip[count];
    for (int k = 0; k < count; ++k)
        strip[k] = {range::load(low + k * range::lanes), range::load(high + k * range::lanes)};
    for (std::int64_t i = 0; i < rows; ++i)
        for (int k = 0; k < count; ++k)
            strip[k].add(range::load(x + i * step + k * range::lanes));
    for (int k = 0; k < count; ++k) {
        std::memcpy(low + k * range::lanes, &strip[k].low, bytes);
        std::memcpy(high + k * range::lanes, &strip[k].high, bytes);
    }
}

template <int bytes, typename Bits>
[[gnu::always_inline]] inline void add_columns(
        const Bits *x, std::int64_t rows, std::int64_t step, std::int64_t columns, Bits *low, Bits *high) {
    constexpr auto lanes = range_of<bytes, Bits>::lanes;
    if (columns >= lanes) {
        std::int64_t j = 0;
        for (; j + 4 * lanes <= columns; j += 4 * lanes)
            add_strip<bytes, 4>(x + j, rows, step, low + j, high + j);
        for (; j + lanes <= columns; j += lanes)
            add_strip<bytes, 1>(x + j, rows, step, low + j, high + j);
        j = columns - lanes;
        if (columns % lanes != 0) add_strip<bytes, 1>(x + j, rows, step, low + j, high + j);
    } else if constexpr (bytes > 16) {
        add_columns<bytes / 2>(x, rows, step, columns, low, high);
    } else {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
                scalar_range<Bits> range = {low[j], high[j]};
                range.add(x[i * step + j]);
                low[j] = range.low;
                high[j] = range.high;
            }
    }
}

/// Each column belongs to its parameter. Rows are read 16 at a time: more would not be prefetched by hardware.
template <int bytes, typename Bits>
void add_columns(const block &b, std::int64_t, void *low, void *high) {
    constexpr std::int64_t at_once = 16;
    for (std::int64_t i = 0; i < b.rows; i += at_once)
        add_columns<bytes>(static_cast<const Bits *>(b.src) + i * b.src_step,
                b.rows - i < at_once ? b.rows - i : at_once, b.src_step, b.columns, static_cast<Bits *>(low),
                static_cast<Bits *>(high));
}

} // namespace
} // namespace dynquant::kernels::native
