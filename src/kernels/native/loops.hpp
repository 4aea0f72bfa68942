// The microkernels: loops over dense rows, by one formula. Written once and compiled for each instruction
// set, whose vector type is V. All is in an anonymous namespace: internal linkage keeps the linker from using one
// instruction set's code for another.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "elements/ceil_div.hpp"
#include "kernels/native/formulas/common.hpp"
#include "kernels/native/small_floats.hpp"

namespace dynquant::kernels::native {
namespace {

/// How many of `count` elements precede the first one aligned to `size` elements.
template <std::int64_t size, typename T>
std::int64_t unaligned_head(const T *p, std::int64_t count) {
    const auto index = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) / sizeof(T));
    const auto head = (size - index % size) % size;
    return head < count ? head : count;
}

/// Prefetches four vectors. Sources of bytes do not gain. `distance` is prefetch_distance, copied before the loop: byte
/// stores cannot alias the copy.
template <typename V, typename Src>
[[gnu::always_inline]] inline void prefetch(const Src *src, std::int64_t distance) {
    if constexpr (sizeof(Src) > 1 && V::lanes > 1)
#pragma GCC unroll 4
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(4 * V::lanes * sizeof(Src)); k += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(src) + distance + k);
}

/// prefetch(), unless the distance is 0: where src is in the first-level cache, prefetches take as long as loads.
template <typename V, typename Src>
[[gnu::always_inline]] inline void prefetch_if_ahead(const Src *src, std::int64_t distance) {
    asm("" : "+r"(distance)); // unknown, so that compilers make no second loop
    if (distance > 0) prefetch<V>(src, distance);
}

template <typename V, typename W, int count>
[[gnu::always_inline]] inline void store(void *p, const simd::several<W, count> &r, bool stream) {
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k) {
        auto *const to = static_cast<std::byte *>(p) + k * static_cast<int>(sizeof(r.at[0]));
        stream ? V::stream(to, r.at[k]) : V::store(to, r.at[k]);
    }
}

/// Four vectors of results, rounded and saturated to elements of half the width of a lane, or to bytes.
template <typename V, bool InPairs, typename Dst, typename Result>
[[gnu::always_inline]] inline auto pack(const Dst *p, const Result (&r)[4]) {
    if constexpr (2 * sizeof(Dst) * V::lanes == sizeof(typename V::integers)) {
        static_assert(!InPairs);
        return simd::several<V, 2> {V::pack(p, r[0], r[1]), V::pack(p, r[2], r[3])};
    } else {
        const auto words = [&](int k) {
            if constexpr (std::is_same_v<Result, real_and_zero_point<V>>)
                return V::add_saturated(
                        V::words(r[k].real, r[k + 1].real), V::words(r[k].zero_point, r[k + 1].zero_point));
            else
                return V::words(r[k], r[k + 1]);
        };
        return simd::several<V, 1> {V::template in_order<InPairs>(V::template bytes<Dst>(words(0), words(2)))};
    }
}

/// Packs one vector of results likewise, and stores it.
template <typename V, typename Dst>
[[gnu::always_inline]] inline void store_packed(Dst *p, const auto &result) {
    V::store_packed(p, result);
}
template <typename V, typename Dst>
[[gnu::always_inline]] inline void store_packed(Dst *p, const real_and_zero_point<V> &a) {
    V::store_packed(p, V::add_saturated(V::words(a.real), V::words(a.zero_point)));
}

/// Stores the first `count` of four vectors of results.
template <typename V, typename Dst, typename Result>
[[gnu::always_inline]] inline void store_partial(Dst *p, std::int64_t count, const Result (&r)[4]) {
    if constexpr (sizeof(Dst) == 4) {
        for (std::int64_t k = 0; k * V::lanes < count; ++k)
            V::store_partial(p + k * V::lanes, count - k * V::lanes, r[k]);
    } else if constexpr (V::lanes == 1) {
        for (std::int64_t k = 0; k < count; ++k)
            p[k] = V::template converted<Dst>(r[k]);
    } else {
        const auto packed = pack<V, false>(p, r);
        constexpr auto size = static_cast<std::int64_t>(sizeof(packed.at[0]));
        const auto bytes = count * static_cast<std::int64_t>(sizeof(Dst));
        for (std::int64_t k = 0; k < std::ssize(packed.at); ++k)
            if (k == 0 || k * size < bytes) // count is at least 1, so k == 0 needs no test
                V::store_bytes(reinterpret_cast<std::byte *>(p) + k * size, bytes - k * size, packed.at[k]);
    }
}

/// Stores four vectors of results. V rounds and saturates reals to narrower types. InPairs: see compute_four().
template <typename V, bool InPairs = false, typename Dst, typename Result>
[[gnu::always_inline]] inline void store(Dst *p, const Result (&r)[4], bool stream) {
    if constexpr (sizeof(Dst) == 4)
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
            stream ? V::stream(p + k * V::lanes, r[k]) : V::store(p + k * V::lanes, r[k]);
    else if constexpr (V::lanes == 1)
        store_partial<V>(p, 4, r);
    else
        store<V>(p, pack<V, InPairs>(p, r), stream);
}

/// Four vectors of elements.
template <typename V, typename Src>
using four_of = decltype(load<V>(std::declval<const Src *>()))[4];

/// Whether V widens bytes to four vectors in fewer operations than one by one.
template <typename V, typename Src>
constexpr bool loads_four = requires(const Src *src, four_of<V, Src> &x) {
    V::load_four(src, x);
};

/// Computes four vectors. If InPairs, bf16 is read in pairs, even and odd elements: they take an operation each, in
/// order two. Each pair then has one formula.
template <typename V, bool InPairs = true, typename Src, typename Dst, typename FormulaAt>
[[gnu::always_inline]] inline void compute_four(
        const Src *src, Dst *dst, std::int64_t i, bool stream, const FormulaAt &formula_at) {
    constexpr std::int64_t n = V::lanes;
    decltype(formula_at(0)(load<V>(src))) r[4];
    if constexpr (V::lanes > 1 && InPairs && std::is_same_v<Src, bfloat16_bits>) {
        static_assert(sizeof(Dst) == 1);
#pragma GCC unroll 2
        for (int k = 0; k < 4; k += 2) {
            typename V::reals even, odd;
            V::load_pairs(src + i + k * n, even, odd);
            r[k] = formula_at(i + k * n)(even);
            r[k + 1] = formula_at(i + k * n)(odd);
        }
        store<V, true>(dst + i, r, stream);
    } else if constexpr (loads_four<V, Src>) {
        four_of<V, Src> x;
        V::load_four(src + i, x);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
            r[k] = formula_at(i + k * n)(x[k]);
        store<V>(dst + i, r, stream);
    } else {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
            r[k] = formula_at(i + k * n)(load<V>(src + i + k * n));
        store<V>(dst + i, r, stream);
    }
}

/// Computes a dense row. formula_at(i) is the formula of columns i to i + lanes. If Overruns, reads and writes up to
/// four vectors beyond the end without masks: the caller computes those elements afterwards.
template <typename V, bool Overruns, typename Src, typename Dst, typename FormulaAt>
requires(!std::is_same_v<Dst, float>) [[gnu::always_inline]] inline void process_row(
        const Src *src, Dst *dst, std::int64_t count, bool stream, bool prefetches, const FormulaAt &formula_at) {
    constexpr std::int64_t n = V::lanes, four = 4 * n;
    const auto distance = prefetch_distance;
    using result = decltype(formula_at(0)(load<V>(src)));
    const auto partial = [&](std::int64_t i, std::int64_t end) __attribute__((always_inline)) {
        result r[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const auto j = i + k * n;
            if (j >= end)
                r[k] = result {};
            else if constexpr (Overruns)
                r[k] = formula_at(j)(load<V>(src + j));
            else
                r[k] = formula_at(j)(load_partial<V>(src + j, end - j));
        }
        if constexpr (Overruns)
            store<V>(dst + i, r, false);
        else
            store_partial<V>(dst + i, end - i, r);
    };
    // Up to the first cache line, if streamed, then the rest: one copy of `partial` serves both ends.
    std::int64_t i = 0, end = count;
    if constexpr (!Overruns)
        if (stream) {
            constexpr std::int64_t line = 64 / sizeof(Dst), aligned = n == 1 ? 1 : line < four ? line : four;
            const auto head = unaligned_head<aligned>(dst, count);
            if (head > 0) end = head;
        }
    for (;; end = count) {
        if (i + four <= end) do {
                if (prefetches) prefetch<V>(src + i, distance);
                compute_four<V>(src, dst, i, stream, formula_at);
                i += four;
            } while (i + four <= end);
        if constexpr (Overruns && V::lanes > 1 && sizeof(Dst) == 1)
            if (end - i <= 2 * n) {
                for (; i < end; i += n)
                    store_packed<V>(dst + i, formula_at(i)(load<V>(src + i)));
                return;
            }
        if (i < end) partial(i, end);
        if (Overruns || end == count) return;
        i = end;
    }
}

/// process_row() of f32 results.
template <typename V, bool Overruns, typename Src, typename FormulaAt>
[[gnu::always_inline]] inline void process_row(
        const Src *src, float *dst, std::int64_t count, bool stream, bool, const FormulaAt &formula_at) {
    constexpr std::int64_t n = V::lanes, four = 4 * n;
    const auto at = [&](std::int64_t i) __attribute__((always_inline)) {
        return formula_at(i)(load<V>(src + i));
    };
    const auto partial = [&](std::int64_t i, std::int64_t end) __attribute__((always_inline)) {
        V::store_partial(dst + i, end - i, formula_at(i)(load_partial<V>(src + i, end - i)));
    };
    std::int64_t i = 0;
    if constexpr (n == 1) { // compilers vectorize this
        for (; i < count; ++i)
            V::store(dst + i, at(i));
        return;
    }
    if (n > 1 && (stream || count >= 3 * n)) {
        i = unaligned_head<n>(dst, count);
        if (i > 0) {
            if (stream)
                partial(0, i);
            else
                V::store(dst, at(0)); // a vector up to the first boundary, which the next one overlaps
        }
    }
    for (; i + four <= count; i += four) {
        if constexpr (loads_four<V, Src>) {
            four_of<V, Src> x;
            V::load_four(src + i, x);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k)
                V::store(dst + i + k * n, formula_at(i + k * n)(x[k]));
            continue;
        }
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
            stream ? V::stream(dst + i + k * n, at(i + k * n)) : V::store(dst + i + k * n, at(i + k * n));
    }
    if constexpr (Overruns) { // no partial vector
        for (; i < count; i += n)
            V::store(dst + i, at(i));
    } else {
        for (; i + n <= count; i += n)
            stream ? V::stream(dst + i, at(i)) : V::store(dst + i, at(i));
        if (i < count) partial(i, count);
    }
}

/// The code of a float of 8 bits or fewer.
struct code {
    std::uint8_t bits;
};

/// process_row() of codes: formula_at(i, k) is that of vector k from column i on. The last elements, fewer than four
/// vectors, go through a buffer, by the same code. InPairs as in compute_four(). Prefetches `ahead` bytes, unless that
/// is 0.
template <typename V, bool InPairs = true, typename Src, typename FormulaAt>
[[gnu::always_inline]] inline void process_row(const Src *src, code *dst, std::int64_t count, bool stream,
        std::int64_t ahead, const FormulaAt &formula_at, const small_float_encoding *encoding) {
    constexpr std::int64_t n = V::lanes, four = 4 * n;
    constexpr bool in_pairs = V::lanes > 1 && InPairs && std::is_same_v<Src, bfloat16_bits>;
    using formula = std::remove_cvref_t<decltype(formula_at(0, 0))>;
    const small_float_encoding f = *encoding; // a copy: byte stores cannot alias it
    const narrowing<V> by(f);
    Src rest[four];
    std::uint8_t codes[four];
    for (std::int64_t i = 0; i < count; i += four) {
        const auto left = count - i;
        const Src *from = src + i;
        auto *to = &dst[i].bits;
        if (left < four) {
            std::memset(static_cast<void *>(rest), 0, sizeof(rest));
            std::memcpy(static_cast<void *>(rest), from, static_cast<std::size_t>(left) * sizeof(Src));
            from = rest;
            to = codes;
        }
        prefetch_if_ahead<V>(src + i, ahead);
        typename V::reals x[4];
        typename V::integers magnitudes[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k += in_pairs ? 2 : 1) {
            if constexpr (in_pairs)
                V::load_pairs(from + k * n, x[k], x[k + 1]);
            else
                x[k] = load<V>(from + k * n);
        }
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const auto [magnitude, sign] = parts_of<V>(formula_at(i, k), x[k]);
            magnitudes[k] = by.code(formula::is_limited ? magnitude : by.bounded(magnitude));
            x[k] = sign;
        }
        const auto results = to_codes<V, formula::is_bounded, in_pairs>(magnitudes, x, f);
        stream &&left >= four ? V::stream(to, results) : V::store(to, results);
        if (left < four) std::memcpy(&dst[i], codes, static_cast<std::size_t>(left));
    }
}

/// rows() and cols() of codes. Streamed rows begin at cache lines.
template <typename V, typename Formula, typename Src>
void rows_to_codes(const dense_rows &of, const prepared_parameters &with, const parameter_access &by) {
    const auto d = of;
    const auto p = taken_by<Formula>(with);
    const auto g = by;
    for (std::int64_t row = 0; row < d.rows; ++row) {
        const auto formula = Formula::from(broadcast<V, Formula> {p, row * g.parameter_step});
        process_row<V>(
                static_cast<const Src *>(d.src) + row * d.src_step, static_cast<code *>(d.dst) + row * d.dst_step,
                d.columns, d.stream, d.ahead, [&](std::int64_t, int) -> const Formula & { return formula; },
                g.encoding);
    }
}
template <typename V, typename Formula, typename Src>
void cols_to_codes(const dense_rows &of, const prepared_parameters &with, const parameter_access &by) {
    const auto d = of;
    const auto p = taken_by<Formula>(with);
    for (std::int64_t row = 0; row < d.rows; ++row)
        process_row<V, false>(
                static_cast<const Src *>(d.src) + row * d.src_step, static_cast<code *>(d.dst) + row * d.dst_step,
                d.columns, d.stream, 0,
                [&](std::int64_t i, int k) {
                    return Formula::from(contiguous<V, Formula> {p, i + k * V::lanes});
                },
                by.encoding);
}

/// One parameter for each row, or for all rows. Overruns = false keeps the code small, for rare formulas and those of
/// long rows only.
template <typename V, typename Formula, typename Src, typename Dst, bool Overruns = true>
void rows(const dense_rows &of, const prepared_parameters &with, const parameter_access &by) {
    const auto d = of; // copies: byte stores cannot alias them
    const auto p = taken_by<Formula>(with);
    const auto g = by;
    const auto *src = static_cast<const Src *>(d.src);
    auto *dst = static_cast<Dst *>(d.dst);
    // Contiguous rows may overrun their ends, except for the last ones.
    const bool joined = d.src_step == d.columns && d.dst_step == d.columns && !d.stream && V::lanes > 1 && Overruns;
    const auto last = joined ? ceil_div(4 * V::lanes, d.columns) : d.rows;
    std::int64_t row = 0;
    if constexpr (Overruns)
        for (; row < d.rows - last; ++row, src += d.src_step, dst += d.dst_step) {
            const auto formula = Formula::from(broadcast<V, Formula> {p, row * g.parameter_step});
            process_row<V, true>(
                    src, dst, d.columns, false,
                    true, [&](std::int64_t) __attribute__((always_inline))->const Formula & { return formula; });
        }
    for (; row < d.rows; ++row, src += d.src_step, dst += d.dst_step) {
        const auto formula = Formula::from(broadcast<V, Formula> {p, row * g.parameter_step});
        process_row<V, false>(
                src, dst, d.columns, d.stream,
                true, [&](std::int64_t) __attribute__((always_inline))->const Formula & { return formula; });
    }
}

/// Computes `Rows` rows with one parameter for each column, loaded once for all of them. `count` is a multiple of four
/// vectors.
template <typename V, typename Formula, int Rows, typename Src, typename Dst>
[[gnu::always_inline]] inline void columns_of(const Src *src, std::int64_t src_step, Dst *dst, std::int64_t dst_step,
        std::int64_t count, const taken<Formula> &p) {
    constexpr std::int64_t n = V::lanes, four = 4 * n;
    using result = decltype(Formula::from(contiguous<V, Formula> {p, 0})(load<V>(src)));
    const Src *from[Rows];
    Dst *to[Rows];
#pragma GCC unroll 4
    for (int row = 0; row < Rows; ++row) {
        from[row] = src + row * src_step;
        to[row] = dst + row * dst_step;
    }
    for (std::int64_t i = 0; i < count; i += four) {
        result r[Rows][4];
        four_of<V, Src> x[loads_four<V, Src> ? Rows : 1];
        if constexpr (loads_four<V, Src>)
#pragma GCC unroll 4
            for (int row = 0; row < Rows; ++row)
                V::load_four(from[row] + i, x[row]);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const auto formula = Formula::from(contiguous<V, Formula> {p, i + k * n});
#pragma GCC unroll 4
            for (int row = 0; row < Rows; ++row)
                if constexpr (loads_four<V, Src>)
                    r[row][k] = formula(x[row][k]);
                else
                    r[row][k] = formula(load<V>(from[row] + i + k * n));
        }
#pragma GCC unroll 4
        for (int row = 0; row < Rows; ++row)
            store<V>(to[row] + i, r[row], false);
    }
}

/// One parameter for each column, loaded once for `Together` rows. 1 keeps the code of rare formulas small.
template <typename V, typename Formula, int Together, typename Src, typename Dst>
void cols(const dense_rows &of, const prepared_parameters &with, const parameter_access &) {
    const auto d = of; // copies: byte stores cannot alias them
    const auto p = taken_by<Formula>(with);
    const auto *src = static_cast<const Src *>(d.src);
    auto *dst = static_cast<Dst *>(d.dst);
    const auto together = Together > 1 && !d.stream ? d.rows / Together * Together : 0;
    const auto whole = d.columns / (4 * V::lanes) * (4 * V::lanes);
    if constexpr (Together > 1)
        for (std::int64_t row = 0; row < together; row += Together)
            columns_of<V, Formula, Together>(
                    src + row * d.src_step, d.src_step, dst + row * d.dst_step, d.dst_step, whole, p);
    for (std::int64_t row = 0; row < d.rows; ++row) { // the ends of rows computed together, and remaining rows
        const auto begin = row < together ? whole : 0;
        if (begin < d.columns)
            process_row<V, false>(
                    src + row * d.src_step + begin, dst + row * d.dst_step + begin, d.columns - begin, d.stream,
                    false, [&](std::int64_t i) __attribute__((always_inline)) {
                        return Formula::from(contiguous<V, Formula> {p, begin + i});
                    });
    }
}

/// One parameter for each group of columns shorter than a vector. Rows that are streamed begin at cache lines.
template <typename V, typename Formula, typename Src, typename Dst>
void short_groups(const dense_rows &of, const prepared_parameters &with, const parameter_access &by) {
    const auto d = of; // copies: byte stores cannot alias them
    const auto p = taken_by<Formula>(with);
    const auto g = by;
    const auto distance = prefetch_distance;
    constexpr std::int64_t n = V::lanes, four = 4 * n;
    const auto at = [&](std::int64_t i) __attribute__((always_inline)) {
        return Formula::from(permuted<V, Formula> {p, g.short_groups.first[i / n], V::load(g.short_groups.index + i)});
    };
    const auto *src = static_cast<const Src *>(d.src);
    auto *dst = static_cast<Dst *>(d.dst);
    for (std::int64_t row = 0; row < d.rows; ++row, src += d.src_step, dst += d.dst_step) {
        using result = decltype(at(0)(load<V>(src)));
        std::int64_t i = 0;
        for (; i + four <= d.columns; i += four) { // no aligned head: the pattern fixes where vectors begin
            prefetch<V>(src + i, distance);
            result r[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k)
                r[k] = at(i + k * n)(load<V>(src + i + k * n));
            store<V>(dst + i, r, d.stream);
        }
        for (; i < d.columns; i += n) {
            const result r[4] = {at(i)(load_partial<V>(src + i, d.columns - i)), result {}, result {}, result {}};
            store_partial<V>(dst + i, d.columns - i < n ? d.columns - i : n, r);
        }
    }
}

/// One parameter for each group of exactly `Vectors` vectors; if that is 4, of any multiple. Rows that are streamed
/// begin at cache lines.
template <typename V, typename Formula, int Vectors, typename Src, typename Dst>
void segs(const dense_rows &of, const prepared_parameters &with, const parameter_access &by) {
    const auto d = of; // copies: byte stores cannot alias them
    const auto p = taken_by<Formula>(with);
    const auto g = by;
    constexpr std::int64_t n = V::lanes, four = 4 * n, length = Vectors * n;
    const auto *src = static_cast<const Src *>(d.src);
    auto *dst = static_cast<Dst *>(d.dst);
    for (std::int64_t row = 0; row < d.rows; ++row, src += d.src_step, dst += d.dst_step) {
        std::int64_t i = 0, parameter = row * g.parameter_step, end_of_group = g.group_length;
        for (; i + four <= d.columns; i += four) {
            prefetch_if_ahead<V>(src + i, d.ahead);
            compute_four<V, (Vectors > 1)>(
                    src, dst, i, d.stream, [&](std::int64_t j) __attribute__((always_inline)) {
                        return Formula::from(broadcast<V, Formula> {p, parameter + (j - i) / length});
                    });
            if (Vectors < 4) {
                parameter += 4 / Vectors;
            } else if (i + four == end_of_group) {
                ++parameter;
                end_of_group += g.group_length;
            }
        }
        if constexpr (Vectors < 4)
            for (; i < d.columns; i += length, ++parameter) {
                const auto formula = Formula::from(broadcast<V, Formula> {p, parameter});
                process_row<V, false>(
                        src + i, dst + i, length, false,
                        false, [&](std::int64_t) __attribute__((always_inline))->const Formula & { return formula; });
            }
    }
}

/// segs() of codes.
template <typename V, typename Formula, int Vectors, typename Src>
void segs_to_codes(const dense_rows &of, const prepared_parameters &with, const parameter_access &by) {
    constexpr std::int64_t length = Vectors * V::lanes;
    const auto d = of; // copies: byte stores cannot alias them
    const auto p = taken_by<Formula>(with);
    const auto g = by;
    for (std::int64_t row = 0; row < d.rows; ++row) {
        std::int64_t parameter = row * g.parameter_step, end_of_group = g.group_length;
        process_row<V, (Vectors > 1)>(
                static_cast<const Src *>(d.src) + row * d.src_step, static_cast<code *>(d.dst) + row * d.dst_step,
                d.columns, d.stream, d.ahead,
                [&](std::int64_t i, int k) __attribute__((always_inline)) {
                    if constexpr (Vectors < 4)
                        return Formula::from(broadcast<V, Formula> {p, parameter + i / length + k / Vectors});
                    if (k == 0 && i == end_of_group) {
                        ++parameter;
                        end_of_group += g.group_length;
                    }
                    return Formula::from(broadcast<V, Formula> {p, parameter});
                },
                g.encoding);
    }
}

} // namespace
} // namespace dynquant::kernels::native
