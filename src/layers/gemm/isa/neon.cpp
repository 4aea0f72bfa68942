// panel_product.hpp for processors without sums of four products: a row of weights is widened to words, and each word
// of x multiplies all of them. Panels do not interleave rows.
#include "targets/neon.hpp"
#include "layers/gemm/isa/end_sums.hpp"
#include "layers/gemm/isa/multiply_panels.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;
using V = simd::neon;

/// Of these rows the sums of a panel stay in registers.
constexpr int most_rows = 4;

/// Multiplies `rows` rows of x by `eights` times eight columns.
template <int rows, int eights, bool x_is_signed>
void multiply_rows(const panel_product &p, const indirect_rows &from, std::int64_t first_row, std::int64_t panel,
        std::int32_t *y, std::int64_t y_stride) {
    constexpr std::int64_t panel_columns = 8 * eights;
    V::integers sums[rows][2 * eights];
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        unroll<2 * eights>([&](int v) __attribute__((always_inline)) { sums[r][v] = V::splat(0); });
    });
    // of_row(r, sums, w): adds the products of a row's element and eight weights.
    const auto add = [&](const std::int8_t *weights, auto of_row) __attribute__((always_inline)) {
        unroll<eights>([&](int e) __attribute__((always_inline)) {
            const auto w = V::load_words<true>(weights + 8 * e);
            unroll<rows>([&](int r) __attribute__((always_inline)) { of_row(r, &sums[r][2 * e], w); });
        });
    };
    const auto inner = p.line_inner, whole = inner / 8 * 8, offset = first_row * from.stride;
    for (std::int64_t line = 0; line < p.lines; ++line) {
        const auto *weights = p.weights + panel * p.panel_bytes + line * p.line_bytes;
        const auto *const x = from.lines[line] + offset;
        std::int64_t k = 0;
        for (; k < whole; k += 8) {
            V::integers words[rows];
            unroll<rows>([&](int r) __attribute__((always_inline)) {
                words[r] = V::load_words<x_is_signed>(x + r * from.stride + k);
            });
            const auto add_place = [&](auto place) __attribute__((always_inline)) {
                add(
                        weights + place * panel_columns,
                        [&](int r, V::integers *to, V::integers w)
                                __attribute__((always_inline)) { V::multiply_by_word<place>(to, w, words[r]); });
            };
            [&]<int... place>(std::integer_sequence<int, place...>) __attribute__((always_inline)) {
                (add_place(std::integral_constant<int, place>()), ...);
            }
            (std::make_integer_sequence<int, 8>());
            weights += 8 * panel_columns;
        }
        for (; k < inner; ++k, weights += panel_columns)
            add(
                    weights, [&](int r, V::integers *to, V::integers w) __attribute__((always_inline)) {
                        const auto element = std::to_integer<std::uint8_t>(x[r * from.stride + k]);
                        V::multiply_by(to, w, x_is_signed ? static_cast<std::int8_t>(element) : element);
                    });
    }
    const auto first = panel * panel_columns, columns = p.columns - first;
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        auto *const to = y + r * y_stride + first;
        unroll<2 * eights>([&](int v) __attribute__((always_inline)) {
            if (columns >= panel_columns)
                V::store(to + 4 * v, sums[r][v]);
            else
                V::store_partial(to + 4 * v, columns - 4 * v, sums[r][v]);
        });
    });
    end_sums<V>(p, from, first_row, rows, first, columns < panel_columns ? columns : panel_columns,
            y - first_row * y_stride, y_stride);
}

/// The loop over elements.
template <int eights>
struct by_elements {
    static constexpr std::int64_t columns = 8 * eights, interleaved = 1;
    static constexpr bool has_excess = false, reads_signed = false;
    template <int rows, bool x_is_signed>
    static void multiply(const panel_product &p, const indirect_rows &x, std::int64_t row, parallel::range panels,
            std::int32_t *y, std::int64_t y_stride) {
        constexpr int now = rows < most_rows ? rows : most_rows;
        for (auto panel = panels.begin; panel < panels.end; ++panel)
            multiply_rows<now, eights, x_is_signed>(p, x, row, panel, y, y_stride);
        if constexpr (rows > now)
            multiply<rows - now, x_is_signed>(p, x, row + now, panels, y + now * y_stride, y_stride);
    }
};

} // namespace

extern const panel_loops neon_panels;
constinit const panel_loops neon_panels {2, {kind_of<by_elements<1>>(), kind_of<by_elements<2>>()}};

} // namespace dynquant::layers
