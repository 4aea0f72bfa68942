// Dense runs of elements.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/native/formulas.hpp"
#include "kernels/native/small_floats.hpp"

namespace dynquant::kernels::native {
namespace {

/// How results reach memory. Streaming stores go past the caches: they spare reading a line before it is
/// overwritten, and pay when the results will have left the caches before anyone reads them. Overrunning runs
/// read and write up to a block beyond their end, without masks: what lies there is computed afterwards.
enum class storing { cached, streaming, overrunning };

/// How many elements come before the first at a multiple of `size` elements.
template <std::int64_t size, typename T>
inline std::int64_t unaligned_head(const T *p, std::int64_t count) {
    const auto index = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) / sizeof(T));
    const auto head = (size - index % size) % size;
    return head < count ? head : count;
}

/// Usually, how many elements before they are needed those of 32 bits are asked for: a page. Memory is read a third
/// faster so, while in the caches asking costs one part in a hundred.
constexpr std::int64_t usual_lead = 1024;

/// Asks for four vectors of src, `lead` elements from here.
template <typename V, typename Real>
inline void prefetch(const Real *src, std::int64_t lead) {
    constexpr std::int64_t line = 64 / sizeof(Real);
    for (std::int64_t k = 0; k < 4 * V::lanes; k += line)
        __builtin_prefetch(src + lead + k);
}

// A dense run of `count` elements, in blocks of four vectors; formula_at(i) gives the formula of columns i to
// i + lanes. Stores of 32-bit elements are aligned, as there are four to a load.

template <typename V, storing Storing, typename Real, typename Integer, typename FormulaAt>
inline void quantize_run(const Real *src, Integer *dst, std::int64_t count, std::int64_t lead, FormulaAt formula_at) {
    constexpr std::int64_t n = V::lanes;
    // Inlined whatever its size: a call for each vector would take longer than what it computes.
    const auto at = [&](std::int64_t i) __attribute__((always_inline)) {
        return formula_at(i)(V::load(src + i));
    };
    const auto partial_block = [&](std::int64_t i, std::int64_t end) {
        using results = decltype(at(i)); // reals, or integers of 32 bits
        results part[4];
        for (int k = 0; k < 4; ++k) {
            const auto j = i + k * n;
            if (j >= end)
                part[k] = results {};
            else if constexpr (Storing == storing::overrunning)
                part[k] = at(j);
            else
                part[k] = formula_at(j)(V::load_partial(src + j, end - j));
        }
        if constexpr (Storing == storing::overrunning)
            V::store(dst + i, part[0], part[1], part[2], part[3]);
        else
            V::store_partial(dst + i, end - i, part[0], part[1], part[2], part[3]);
    };
    std::int64_t i = 0;
    if constexpr (Storing == storing::streaming) {
        i = unaligned_head<4 * n>(dst, count);
        if (i > 0) partial_block(0, i);
        for (; i + 4 * n <= count; i += 4 * n) {
            prefetch<V>(src + i, lead);
            V::stream(dst + i, at(i), at(i + n), at(i + 2 * n), at(i + 3 * n));
        }
    }
    for (; i + 4 * n <= count; i += 4 * n) {
        prefetch<V>(src + i, lead);
        V::store(dst + i, at(i), at(i + n), at(i + 2 * n), at(i + 3 * n));
    }
    if (i < count) partial_block(i, count);
}

template <typename V, storing Storing, typename Element, typename FormulaAt>
inline void dequantize_run(const Element *src, float *dst, std::int64_t count, FormulaAt formula_at) {
    constexpr std::int64_t n = V::lanes;
    const auto at = [&](std::int64_t i) { return formula_at(i)(load<V>(src + i)); };
    const auto four = [](std::int64_t i, const auto &vector) { // written out: not every compiler unrolls a loop
        vector(i);
        vector(i + n);
        vector(i + 2 * n);
        vector(i + 3 * n);
    };
    const auto partial_block = [&](std::int64_t i, std::int64_t end) {
        for (; i < end; i += n)
            if constexpr (Storing == storing::overrunning)
                V::store(dst + i, at(i));
            else
                V::store_partial(dst + i, end - i, formula_at(i)(load_partial<V>(src + i, end - i)));
    };
    std::int64_t i = 0;
    if constexpr (Storing == storing::streaming) {
        i = unaligned_head<n>(dst, count);
        partial_block(0, i);
        for (; i + 4 * n <= count; i += 4 * n)
            four(i, [&](std::int64_t j) { V::stream(dst + j, at(j)); });
    } else if (count >= n) { // a vector to the first boundary; it and the next one overlap
        i = unaligned_head<n>(dst, count);
        if (i > 0) V::store(dst, at(0));
    }
    for (; i + 4 * n <= count; i += 4 * n)
        four(i, [&](std::int64_t j) { V::store(dst + j, at(j)); });
    partial_block(i, count);
}

/// Reals to reals, before they are narrowed or after they have been widened.
template <typename V, typename Real, typename FormulaAt>
inline void scale_run(const Real *src, float *dst, std::int64_t count, FormulaAt formula_at) {
    constexpr std::int64_t n = V::lanes;
    std::int64_t i = 0;
    for (; i + n <= count; i += n)
        V::store(dst + i, formula_at(i)(V::load(src + i)));
    if (i < count) V::store(dst + i, formula_at(i)(V::load_partial(src + i, count - i)));
}

/// Reals to codes of a format, in blocks of four vectors. The last one may be partial, and is then computed aside by
/// the same code: the only one, as there are many formulas.
template <typename V, typename Real, typename FormulaAt>
inline void narrow_run(const Real *src, std::uint8_t *dst, std::int64_t count, std::int64_t lead,
        const narrow_format &format, FormulaAt formula_at) {
    constexpr std::int64_t n = V::lanes, block = 4 * n;
    const narrow_format f = format; // which no store to dst changes
    const narrowing<V> by(f);
    Real rest[block];
    std::uint8_t codes[block];
    for (std::int64_t i = 0; i < count; i += block) {
        const auto left = count - i;
        const Real *from = src + i;
        std::uint8_t *to = dst + i;
        if (left < block) {
            std::memset(rest, 0, sizeof(rest));
            std::memcpy(rest, from, static_cast<std::size_t>(left) * sizeof(Real));
            from = rest;
            to = codes;
        }
        prefetch<V>(src + i, lead);
        typename V::integers magnitudes[4];
        typename V::reals signs[4];
        for (int k = 0; k < 4; ++k) {
            const auto &formula = formula_at(i + k * n);
            const auto [magnitude, sign] = formula.parts(V::load(from + k * n));
            constexpr bool is_limited = std::remove_cvref_t<decltype(formula)>::is_limited;
            magnitudes[k] = by.code(is_limited ? magnitude : by.bounded(magnitude));
            signs[k] = sign;
        }
        V::store_codes(to, magnitudes, signs, f);
        if (left < block) std::memcpy(dst + i, codes, static_cast<std::size_t>(left));
    }
}

// Dense runs of `count` elements, so many of them and so many elements apart, by the same formulas, which are loaded
// once for all. Two of sixteen lanes ask for those that follow; more are for the second-level cache, where asking takes
// longer than it spares, and the first-level caches of processors with eight are filled by the formulas' table.

template <typename V, int Runs, typename Real, typename Integer, typename FormulaAt>
inline void quantize_together(const Real *src, std::int64_t src_step, Integer *dst, std::int64_t dst_step,
        std::int64_t count, FormulaAt formula_at) {
    constexpr std::int64_t n = V::lanes;
    constexpr bool asks = Runs <= 2 && n == 16;
    std::int64_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {
        using result = decltype(formula_at(i)(V::load(src)));
        result results[Runs][4];
        for (int run = 0; run < Runs && asks; ++run)
            prefetch<V>(src + run * src_step + i, Runs * src_step);
        for (int k = 0; k < 4; ++k) {
            const auto formula = formula_at(i + k * n);
            for (int run = 0; run < Runs; ++run)
                results[run][k] = formula(V::load(src + run * src_step + i + k * n));
        }
        for (int run = 0; run < Runs; ++run) {
            const auto &r = results[run];
            V::store(dst + run * dst_step + i, r[0], r[1], r[2], r[3]);
        }
    }
    const auto rest = [&](std::int64_t j) { return formula_at(i + j); };
    for (int run = 0; run < Runs && i < count; ++run)
        quantize_run<V, storing::cached>(src + run * src_step + i, dst + run * dst_step + i, count - i, 0, rest);
}

/// dst_step is a multiple of the lanes, so that one alignment serves all.
template <typename V, int Runs, typename Integer, typename FormulaAt>
inline void dequantize_together(const Integer *src, std::int64_t src_step, float *dst, std::int64_t dst_step,
        std::int64_t count, FormulaAt formula_at) {
    constexpr std::int64_t n = V::lanes;
    const auto all = [&](std::int64_t i) {
        const auto formula = formula_at(i);
        for (int run = 0; run < Runs; ++run)
            V::store(dst + run * dst_step + i, formula(V::load(src + run * src_step + i)));
    };
    std::int64_t i = 0;
    if (count >= n) { // a vector to the first boundary; it and the next one overlap
        i = unaligned_head<n>(dst, count);
        if (i > 0) all(0);
    }
    for (; i + 2 * n <= count; i += 2 * n) {
        all(i);
        all(i + n);
    }
    const auto rest = [&](std::int64_t j) { return formula_at(i + j); };
    for (int run = 0; run < Runs && i < count; ++run)
        dequantize_run<V, storing::cached>(src + run * src_step + i, dst + run * dst_step + i, count - i, rest);
}

/// The usual length of a block of elements under one parameter, and of four vectors or two.
constexpr std::int64_t usual_block = 32;

// Rows of so many elements one after the other, each by a formula of its own, formula_of(row). Where they are streamed,
// vectors begin at multiples of what is stored at once.

template <typename V, storing Storing, typename Real, typename Integer, typename FormulaOf>
inline void quantize_blocks(
        const Real *src, Integer *dst, std::int64_t rows, std::int64_t lead, const FormulaOf &formula_of) {
    constexpr std::int64_t n = V::lanes, length = 4 * n, at_once = length / usual_block;
    static_assert(at_once > 0);
    std::int64_t row = 0;
    for (; row + at_once <= rows; row += at_once, src += length, dst += length) {
        using result = decltype(formula_of(row)(V::load(src)));
        result results[4];
        prefetch<V>(src, lead);
        for (std::int64_t i = 0; i < at_once; ++i) {
            const auto formula = formula_of(row + i);
            for (std::int64_t k = 4 / at_once * i; k < 4 / at_once * (i + 1); ++k)
                results[k] = formula(V::load(src + k * n));
        }
        if constexpr (Storing == storing::streaming)
            V::stream(dst, results[0], results[1], results[2], results[3]);
        else
            V::store(dst, results[0], results[1], results[2], results[3]);
    }
    for (; row < rows; ++row, src += usual_block, dst += usual_block) {
        const auto formula = formula_of(row);
        quantize_run<V, storing::cached>(
                src, dst, usual_block, lead, [&](std::int64_t) -> const auto & { return formula; });
    }
}

template <typename V, storing Storing, typename Element, typename FormulaOf>
inline void dequantize_blocks(const Element *src, float *dst, std::int64_t rows, const FormulaOf &formula_of) {
    constexpr std::int64_t n = V::lanes;
    for (std::int64_t row = 0; row < rows; ++row, src += usual_block, dst += usual_block) {
        const auto formula = formula_of(row);
        for (std::int64_t i = 0; i < usual_block; i += n)
            if constexpr (Storing == storing::streaming)
                V::stream(dst + i, formula(load<V>(src + i)));
            else
                V::store(dst + i, formula(load<V>(src + i)));
    }
}

} // namespace
} // namespace dynquant::kernels::native
