// The range of each block of src: the first step of computed scales. Written once over vectors of `bytes` bytes
// (targets/lanes.hpp).
//
// The sign is the highest bit of a float, so one signed and one unsigned integer maximum find both bounds:
//   high: the signed maximum, from 0 on. Non-negative floats sort by their bits; negative ones are less than 0.
//   low:  the unsigned maximum, from -0 on. Negative floats sort by their magnitude; others are less than -0.
// Without its sign bit an element counts for `high` only: the absolute maximum, of half the work.
// NaN is beyond infinity in either order, so it stays. A maximum may read an element twice: remainders overlap.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/native/loops.hpp"
#include "targets/lanes.hpp"

namespace dynquant::kernels::native {
namespace {

/// Ranges of f32 (Bits = std::uint32_t), f16 or bf16 (std::uint16_t). `absolute`: of magnitudes; low stays as it is.
template <int vector_bytes, typename Bits, bool absolute>
struct range_of {
    static constexpr int bytes = vector_bytes;
    static constexpr bool is_absolute = absolute;
    static constexpr auto sign = static_cast<Bits>(Bits {1} << (8 * sizeof(Bits) - 1));
    using bits = Bits;
    using integer = std::conditional_t<sizeof(Bits) == 4, std::int32_t, std::int16_t>;
    using signed_lanes = simd::lanes_of<integer, bytes>;
    using unsigned_lanes = simd::lanes_of<Bits, bytes>;
    using vector = typename unsigned_lanes::vector;
    using half = range_of<bytes / 2, Bits, absolute>;
    static constexpr auto lanes = unsigned_lanes::lanes;

    vector low, high;

    [[gnu::always_inline]] static vector load(const Bits *p) {
        return unsigned_lanes::in_register(unsigned_lanes::load(p));
    }
    [[gnu::always_inline]] static vector greater(vector a, vector b) { return unsigned_lanes::max(a, b); }
    [[gnu::always_inline]] static vector greater_signed(vector a, vector b) {
        return unsigned_lanes::as(signed_lanes::max(signed_lanes::as(a), signed_lanes::as(b)));
    }
    /// The range of a vector. `magnitude` is ~sign, in a register: else g++ makes that constant anew for each vector.
    [[gnu::always_inline]] static range_of first(vector x, vector magnitude) {
        return {x, absolute ? x & magnitude : x};
    }
    [[gnu::always_inline]] static vector magnitude() {
        return unsigned_lanes::in_register(unsigned_lanes::splat(static_cast<Bits>(~sign)));
    }
    [[gnu::always_inline]] static range_of none() { return {unsigned_lanes::splat(sign), vector {}}; }
    [[gnu::always_inline]] void add(vector x) {
        if constexpr (absolute)
            high = greater_signed(high, x & static_cast<Bits>(~sign));
        else
            add(range_of {x, x});
    }
    [[gnu::always_inline]] void add(const range_of &other) {
        if constexpr (!absolute) low = greater(low, other.low);
        high = greater_signed(high, other.high);
    }
    /// Adds a range, or an element, to a range of one lane.
    [[gnu::always_inline]] static void extend(Bits &low, Bits &high, Bits by_low, Bits by_high) {
        if constexpr (!absolute) low = by_low > low ? by_low : low;
        high = static_cast<integer>(by_high) > static_cast<integer>(high) ? by_high : high;
    }
    [[gnu::always_inline]] static void extend(Bits &low, Bits &high, Bits x) {
        if constexpr (absolute) {
            x &= static_cast<Bits>(~sign);
            high = x > high ? x : high;
        } else {
            extend(low, high, x, x);
        }
    }
};

/// Lane i is lane of(i) of the pair (a, b).
template <typename Range, typename Of>
[[gnu::always_inline]] inline typename Range::vector shuffled(typename Range::vector a, typename Range::vector b, Of) {
    return [=]<std::size_t... lane>(std::index_sequence<lane...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(a, b, Of()(static_cast<int>(lane))...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(Range::lanes)>());
}

/// The range of all lanes, in each.
template <typename Range, int step = static_cast<int>(Range::lanes) / 2>
[[gnu::always_inline]] inline Range across_lanes(Range r) {
    const auto other = [](int lane) { return lane ^ step; };
    r.add({shuffled<Range>(r.low, r.low, other), shuffled<Range>(r.high, r.high, other)});
    if constexpr (step > 1) return across_lanes<Range, step / 2>(r);
    return r;
}

/// Adds a dense row.
template <typename Range>
[[gnu::always_inline]] inline void add_row(
        const typename Range::bits *x, std::int64_t count, typename Range::bits &low, typename Range::bits &high) {
    constexpr auto lanes = Range::lanes;
    if (count >= lanes) {
        const auto distance = prefetch_distance;
        auto a = Range::none(), b = a, c = a, d = a;
        std::int64_t i = 0;
        for (; i + 4 * lanes <= count; i += 4 * lanes) {
            if (distance > 0)
#pragma GCC unroll 4
                for (int line = 0; line < 4 * Range::bytes; line += 64)
                    __builtin_prefetch(reinterpret_cast<const char *>(x + i) + distance + line);
            a.add(Range::load(x + i));
            b.add(Range::load(x + i + lanes));
            c.add(Range::load(x + i + 2 * lanes));
            d.add(Range::load(x + i + 3 * lanes));
        }
        for (; i + lanes <= count; i += lanes)
            a.add(Range::load(x + i));
        if (i < count) b.add(Range::load(x + count - lanes));
        a.add(b), c.add(d), a.add(c);
        const auto all = across_lanes(a);
        Range::extend(low, high, all.low[0], all.high[0]);
    } else if constexpr (Range::bytes > 16) {
        add_row<typename Range::half>(x, count, low, high);
    } else {
        for (std::int64_t i = 0; i < count; ++i)
            Range::extend(low, high, x[i]);
    }
}

/// Merges vectors of as many rows as there are lanes to one vector that has the range of each row in a lane. Each merge
/// halves what is left of two vectors: first words of 128-bit lanes are interleaved, then 128-bit lanes are joined.
template <typename Range>
struct rows_to_lanes {
    using vector = typename Range::vector;
    static constexpr int lanes = static_cast<int>(Range::lanes);
    static constexpr int of_128 = 16 / static_cast<int>(sizeof(typename Range::bits));

    /// The lane of the pair (a, b) that is lane i of the lower or upper halves. Each vector has `count` rows.
    static constexpr int lane_of(int i, bool upper, int count) {
        const int lane_128 = i / of_128, within = i % of_128;
        if (count < of_128) return lane_128 * of_128 + within / 2 + (upper ? of_128 / 2 : 0) + within % 2 * lanes;
        return (lane_128 / 2 + (upper ? lanes / of_128 / 2 : 0)) * of_128 + within + lane_128 % 2 * lanes;
    }

    /// A number for each lane.
    struct order {
        int at[lanes];
    };
    /// The row of each lane after all merges of `count` rows, from `first` on. For instance four, A to D, of four
    /// lanes. Below each other are the numbers that a merge compares, lower and upper half; A02 is the greater of A0
    /// and A2, A is the greatest of all.
    ///
    ///     A: A0 A1 A2 A3    B: B0 B1 B2 B3         C: C0 C1 C2 C3    D: D0 D1 D2 D3
    ///
    ///     merge A, B:    A0  B0  A1  B1            merge C, D:    C0  D0  C1  D1
    ///                    A2  B2  A3  B3                           C2  D2  C3  D3
    ///                    A02 B02 A13 B13                          C02 D02 C13 D13
    ///
    ///     merge both:    A02 C02 B02 D02
    ///                    A13 C13 B13 D13
    ///                    A   C   B   D             {0, 2, 1, 3}
    static constexpr order merged_order(int first, int count) {
        order result = {};
        if (count == 1) {
            for (int &row : result.at)
                row = first;
            return result;
        }
        const auto a = merged_order(first, count / 2), b = merged_order(first + count / 2, count / 2);
        for (int i = 0; i < lanes; ++i) {
            const int from = lane_of(i, false, count / 2);
            result.at[i] = from < lanes ? a.at[from] : b.at[from - lanes];
        }
        return result;
    }
    /// The inverse: the lane of each row.
    static constexpr order lane_of_row = [] {
        constexpr auto merged = merged_order(0, lanes);
        order result = {};
        for (int lane = 0; lane < lanes; ++lane)
            result.at[merged.at[lane]] = lane;
        return result;
    }();
    [[gnu::always_inline]] static vector in_order(vector merged) {
        return shuffled<Range>(merged, merged, [](int row) { return lane_of_row.at[row]; });
    }
    template <int count, auto greater>
    [[gnu::always_inline]] static vector merge(vector a, vector b) {
        return greater(shuffled<Range>(a, b, [](int lane) { return lane_of(lane, false, count); }),
                shuffled<Range>(a, b, [](int lane) { return lane_of(lane, true, count); }));
    }

    /// Merges the ranges of `count` rows, from row `first` on. Reads them in order: else hardware prefetches less.
    /// Vectors, not structs of them: g++ 12 copies these in 16-byte pieces.
    template <int first, int count>
    [[gnu::always_inline]] static void find(const auto &range_of_row, vector &low, vector &high) {
        if constexpr (count == 1) {
            range_of_row(first, low, high);
        } else {
            vector next_low, next_high;
            find<first, count / 2>(range_of_row, low, high);
            find<first + count / 2, count / 2>(range_of_row, next_low, next_high);
            if constexpr (!Range::is_absolute) low = merge<count / 2, Range::greater>(low, next_low);
            high = merge<count / 2, Range::greater_signed>(high, next_high);
        }
    }
};

/// As many rows as there are lanes, each of at least a vector; of Vectors vectors, or any number if that is 0.
template <typename Range, int Vectors>
[[gnu::noinline]] void add_short_rows(const typename Range::bits *x, std::int64_t step, std::int64_t columns,
        typename Range::bits *low, typename Range::bits *high) {
    using merger = rows_to_lanes<Range>;
    constexpr auto lanes = Range::lanes;
    const auto distance = prefetch_distance;
    const auto magnitude = Range::magnitude();
    const auto range_of_row = [=](int i, auto &low_of_row, auto &high_of_row) __attribute__((always_inline)) {
        const auto *const row = x + i * step;
        if (distance > 0) __builtin_prefetch(reinterpret_cast<const char *>(row) + distance);
        const auto range_at = [=](std::int64_t j) __attribute__((always_inline)) {
            return Range::first(Range::load(row + j), magnitude);
        };
        auto r = range_at(0);
        if constexpr (Vectors > 0) {
#pragma GCC unroll 4
            for (std::int64_t j = 1; j < Vectors; ++j)
                r.add(range_at(j * lanes));
        } else {
            for (std::int64_t j = lanes; j < columns; j += lanes) // the last vector may overlap the one before
                r.add(range_at(j + lanes <= columns ? j : columns - lanes));
        }
        low_of_row = r.low;
        high_of_row = r.high;
    };
    typename merger::vector lows, highs;
    merger::template find<0, merger::lanes>(range_of_row, lows, highs);
    using numbers = typename Range::unsigned_lanes;
    if constexpr (!Range::is_absolute) numbers::store(low, Range::greater(merger::in_order(lows), Range::load(low)));
    numbers::store(high, Range::greater_signed(merger::in_order(highs), Range::load(high)));
}

/// Adds rows of consecutive parameters by add_short_rows(). Returns how many it has added.
template <typename Range>
std::int64_t add_many_short_rows(const dense_rows &d, typename Range::bits *low, typename Range::bits *high) {
    constexpr auto lanes = Range::lanes;
    std::int64_t i = 0;
    if (d.columns >= lanes) {
        const auto add = d.columns == lanes ? add_short_rows<Range, 1>
                : d.columns == 2 * lanes    ? add_short_rows<Range, 2>
                : d.columns == 4 * lanes    ? add_short_rows<Range, 4>
                                            : add_short_rows<Range, 0>;
        for (; i + lanes <= d.rows; i += lanes)
            add(static_cast<const typename Range::bits *>(d.src) + i * d.src_step, d.src_step, d.columns, low + i,
                    high + i);
    } else if constexpr (Range::bytes > 32) {
        return add_many_short_rows<typename Range::half>(d, low, high);
    }
    return i;
}

/// d.src has `d.rows` rows. Row i belongs to parameter i * parameter_step.
template <typename Range>
void add_rows(const dense_rows &d, std::int64_t parameter_step, void *low, void *high) {
    using bits = typename Range::bits;
    auto *const lows = static_cast<bits *>(low), *const highs = static_cast<bits *>(high);
    const bool are_short = d.columns <= 8 * Range::lanes && parameter_step == 1;
    for (auto i = are_short ? add_many_short_rows<Range>(d, lows, highs) : 0; i < d.rows; ++i) {
        auto low_of_row = lows[i * parameter_step], high_of_row = highs[i * parameter_step]; // x cannot alias copies
        add_row<Range>(static_cast<const bits *>(d.src) + i * d.src_step, d.columns, low_of_row, high_of_row);
        lows[i * parameter_step] = low_of_row;
        highs[i * parameter_step] = high_of_row;
    }
}

/// Adds `rows` rows of `count` vectors' columns.
template <typename Range, int count>
[[gnu::always_inline]] inline void add_strip(const typename Range::bits *x, std::int64_t rows, std::int64_t step,
        typename Range::bits *low, typename Range::bits *high) {
    Range strip[count];
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k)
        strip[k] = {Range::load(low + k * Range::lanes), Range::load(high + k * Range::lanes)};
    for (std::int64_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
        for (int k = 0; k < count; ++k)
            strip[k].add(Range::load(x + i * step + k * Range::lanes));
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k) {
        Range::unsigned_lanes::store(low + k * Range::lanes, strip[k].low);
        Range::unsigned_lanes::store(high + k * Range::lanes, strip[k].high);
    }
}

template <typename Range>
[[gnu::always_inline]] inline void add_columns(const typename Range::bits *x, std::int64_t rows, std::int64_t step,
        std::int64_t columns, typename Range::bits *low, typename Range::bits *high) {
    constexpr auto lanes = Range::lanes;
    if (columns >= lanes) {
        std::int64_t j = 0;
        for (; j + 4 * lanes <= columns; j += 4 * lanes)
            add_strip<Range, 4>(x + j, rows, step, low + j, high + j);
        for (; j + lanes <= columns; j += lanes)
            add_strip<Range, 1>(x + j, rows, step, low + j, high + j);
        j = columns - lanes;
        if (columns % lanes != 0) add_strip<Range, 1>(x + j, rows, step, low + j, high + j);
    } else if constexpr (Range::bytes > 16) {
        add_columns<typename Range::half>(x, rows, step, columns, low, high);
    } else {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                Range::extend(low[j], high[j], x[i * step + j]);
    }
}

/// Each column belongs to its parameter. Rows are read 16 at a time: more would not be prefetched by hardware.
template <typename Range>
void add_columns(const dense_rows &d, std::int64_t, void *low, void *high) {
    using bits = typename Range::bits;
    constexpr std::int64_t at_once = 16;
    for (std::int64_t i = 0; i < d.rows; i += at_once)
        add_columns<Range>(static_cast<const bits *>(d.src) + i * d.src_step,
                d.rows - i < at_once ? d.rows - i : at_once, d.src_step, d.columns, static_cast<bits *>(low),
                static_cast<bits *>(high));
}

template <int bytes, typename Bits>
constexpr range_functions range_functions_of() {
    using bounds = range_of<bytes, Bits, false>;
    using magnitudes = range_of<bytes, Bits, true>;
    return {{add_rows<bounds>, add_rows<magnitudes>}, {add_columns<bounds>, add_columns<magnitudes>}};
}

} // namespace
} // namespace dynquant::kernels::native
