// unpacked_product.hpp by vectors of words: VPMADDWD adds the products of two rows of w, which 32 bits hold exactly.
#pragma once

#include <algorithm>
#include <cstring>

#include "layers/gemm/unpacked/unpacked_product.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

template <typename W>
std::int32_t product_of_column(const std::int16_t *x, const W *w, std::int64_t inner, std::int64_t w_stride) {
    std::uint32_t sum = 0; // less zero points it fits s32, which it may leave before
    for (std::int64_t k = 0; k < inner; ++k)
        sum += static_cast<std::uint32_t>(x[k] * w[k * w_stride]);
    return static_cast<std::int32_t>(sum);
}

/// Two words of a row of x for each lane.
template <typename V>
typename V::integers splat_pair(const std::int16_t *x) {
    std::int32_t pair = 0;
    std::memcpy(&pair, x, sizeof pair);
    return V::splat(pair);
}

/// Adds the products of `pairs` pairs of rows of w to y: each row of w is one sequential stream.
template <typename V, bool w_is_signed, int rows, int pairs>
void add_pairs(
        const unpacked_product &p, std::int64_t k, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    constexpr std::int64_t width = 2 * V::lanes;
    typename V::integers x[rows][pairs];
    const std::byte *a[pairs], *b[pairs];
#pragma GCC unroll 4
    for (int i = 0; i < pairs; ++i) {
        const auto of = k + 2 * i;
        a[i] = p.w + of * p.w_stride;
        b[i] = of + 1 < p.inner ? a[i] + p.w_stride : a[i]; // times 0
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
            x[r][i] = splat_pair<V>(p.x + r * p.x_stride + of);
    }
    for (auto n = columns.begin; n < columns.end; n += width) {
        typename V::integers sums[rows][2];
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < 2; ++v)
                sums[r][v] = k == 0 ? V::splat(0) : V::load(y + r * y_stride + n + v * V::lanes);
#pragma GCC unroll 4
        for (int i = 0; i < pairs; ++i) {
            typename V::integers words[2];
            V::template interleave_to_words<w_is_signed>(a[i] + n, b[i] + n, words);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r)
                for (int v = 0; v < 2; ++v)
                    sums[r][v] = V::dot_pairs(sums[r][v], words[v], x[r][i]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < 2; ++v)
                V::store(y + r * y_stride + n + v * V::lanes, sums[r][v]);
    }
}

template <typename V, bool w_is_signed, int rows>
void multiply_rows_of_w(const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    using W = std::conditional_t<w_is_signed, std::int8_t, std::uint8_t>;
    constexpr std::int64_t width = 2 * V::lanes;
    const parallel::range whole {columns.begin, columns.end - (columns.end - columns.begin) % width};
    std::int64_t k = 0;
    for (; k + 8 <= p.inner; k += 8)
        add_pairs<V, w_is_signed, rows, 4>(p, k, whole, y, y_stride);
    for (; k < p.inner; k += 2)
        add_pairs<V, w_is_signed, rows, 1>(p, k, whole, y, y_stride);
    for (int r = 0; r < rows; ++r) {
        if (p.inner == 0) std::fill(y + r * y_stride + whole.begin, y + r * y_stride + whole.end, 0);
        for (auto n = whole.end; n < columns.end; ++n)
            y[r * y_stride + n] =
                    product_of_column(p.x + r * p.x_stride, reinterpret_cast<const W *>(p.w) + n, p.inner, p.w_stride);
    }
}

template <typename V, bool w_is_signed, int rows>
void multiply_columns_of_w(const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    using W = std::conditional_t<w_is_signed, std::int8_t, std::uint8_t>;
    constexpr std::int64_t width = 2 * V::lanes;
    const auto whole = p.inner - p.inner % width;
    for (auto n = columns.begin; n < columns.end; ++n) {
        const auto *const w = p.w + n * p.w_stride;
        typename V::integers sums[rows];
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
            sums[r] = V::splat(0);
        for (std::int64_t k = 0; k < whole; k += width) {
            const auto words = V::template load_words<w_is_signed>(w + k);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r)
                sums[r] = V::dot_pairs(sums[r], words, V::load_bits(p.x + r * p.x_stride + k));
        }
        for (int r = 0; r < rows; ++r) {
            std::int32_t lanes[V::lanes];
            V::store(lanes, sums[r]);
            std::uint32_t sum = 0;
            for (const auto lane : lanes)
                sum += static_cast<std::uint32_t>(lane);
            sum += static_cast<std::uint32_t>(product_of_column(
                    p.x + r * p.x_stride + whole, reinterpret_cast<const W *>(w) + whole, p.inner - whole, 1));
            y[r * y_stride + n] = static_cast<std::int32_t>(sum);
        }
    }
}

template <typename V, bool w_is_signed>
void multiply_unpacked_rows(
        const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    static constexpr multiply_unpacked_function functions[2][4] = {
            {multiply_rows_of_w<V, w_is_signed, 1>, multiply_rows_of_w<V, w_is_signed, 2>,
                    multiply_rows_of_w<V, w_is_signed, 3>, multiply_rows_of_w<V, w_is_signed, 4>},
            {multiply_columns_of_w<V, w_is_signed, 1>, multiply_columns_of_w<V, w_is_signed, 2>,
                    multiply_columns_of_w<V, w_is_signed, 3>, multiply_columns_of_w<V, w_is_signed, 4>}};
    static_assert(most_unpacked_rows == 4);
    functions[p.has_adjacent_rows ? 1 : 0][p.rows - 1](p, columns, y, y_stride);
}

template <typename V>
void multiply_unpacked_by(const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    p.w_is_signed ? multiply_unpacked_rows<V, true>(p, columns, y, y_stride)
                  : multiply_unpacked_rows<V, false>(p, columns, y, y_stride);
}

template <typename V>
constexpr multiply_unpacked_function unpacked_of = multiply_unpacked_by<V>;

} // namespace
} // namespace dynquant::layers
