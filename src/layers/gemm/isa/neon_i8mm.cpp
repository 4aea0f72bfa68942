// panel_product.hpp by products of matrices: an instruction multiplies two rows of x by two columns, eight bytes of
// each, which is twice what one multiplies by sums of four products. Panels interleave eight rows.
#include <cstring>

#include "layers/gemm/isa/end_sums.hpp"
#include "layers/gemm/isa/multiply_panels.hpp"
#include "targets/neon_i8mm.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;
using V = simd::neon_i8mm;

/// Multiplies `rows` rows of x by `fours` times four columns, whose sums stay in registers: of pairs of rows. An odd
/// last row is a pair with itself.
template <int rows, int fours, bool x_is_signed>
void multiply_rows(const panel_product &p, const indirect_rows &from, std::int64_t first_row, std::int64_t panel,
        std::int32_t *y, std::int64_t y_stride) {
    constexpr int pairs = (rows + 1) / 2, twos = 2 * fours;
    constexpr std::int64_t panel_columns = 4 * fours, step = 8, step_bytes = step * panel_columns;
    V::integers sums[pairs][twos];
    unroll<pairs>([&](int r) __attribute__((always_inline)) {
        unroll<twos>([&](int c) __attribute__((always_inline)) { sums[r][c] = V::splat(0); });
    });
    // row(r): where the eight bytes of a row are.
    const auto add = [&](const std::int8_t *weights, auto row) __attribute__((always_inline)) {
        V::integers x[pairs];
        unroll<pairs>([&](int r) __attribute__((always_inline)) {
            x[r] = V::join_rows(row(2 * r), row(2 * r + 1 < rows ? 2 * r + 1 : 2 * r));
        });
        unroll<twos>([&](int c) __attribute__((always_inline)) {
            // g++ would load all weights first, in more registers than there are.
            if (c >= 2 && c % 2 == 0) V::order_loads(weights, sums[0][c - 1]);
            const auto w = V::load_bits(weights + 16 * c);
            unroll<pairs>([&](int r) __attribute__((always_inline)) {
                sums[r][c] = V::multiply_rows<x_is_signed>(sums[r][c], x[r], w);
            });
        });
    };
    const auto inner = p.line_inner, whole = inner / step * step, offset = first_row * from.stride;
    for (std::int64_t line = 0; line < p.lines; ++line) {
        const auto *weights = p.weights + panel * p.panel_bytes + line * p.line_bytes;
        const auto *x = from.lines[line] + offset;
        for (const auto *const end = x + whole; x < end; x += step, weights += step_bytes)
            add(
                    weights, [&](int r) __attribute__((always_inline)) { return x + r * from.stride; });
        if (whole == inner) continue;
        std::byte rest[rows][step] = {};
        for (int r = 0; r < rows; ++r)
            std::memcpy(rest[r], x + r * from.stride, static_cast<std::size_t>(inner - whole));
        add(
                weights, [&](int r) __attribute__((always_inline)) { return rest[r]; });
    }
    const auto first = panel * panel_columns, columns = p.columns - first;
    unroll<rows>([&](int r) __attribute__((always_inline)) {
        auto *const to = y + r * y_stride + first;
        unroll<fours>([&](int c) __attribute__((always_inline)) {
            const auto of_row = V::row_of(sums[r / 2][2 * c], sums[r / 2][2 * c + 1], r % 2 != 0);
            if (columns >= panel_columns)
                V::store(to + 4 * c, of_row);
            else
                V::store_partial(to + 4 * c, columns - 4 * c, of_row);
        });
    });
    end_sums<V>(p, from, first_row, rows, first, columns < panel_columns ? columns : panel_columns,
            y - first_row * y_stride, y_stride);
}

/// The loop over matrices of eight rows.
template <int fours>
struct by_matrices {
    static constexpr std::int64_t columns = 4 * fours, interleaved = 8;
    static constexpr bool has_excess = false, reads_signed = false;
    template <int rows, bool x_is_signed>
    static void multiply(const panel_product &p, const indirect_rows &x, std::int64_t row, parallel::range panels,
            std::int32_t *y, std::int64_t y_stride) {
        for (auto panel = panels.begin; panel < panels.end; ++panel)
            multiply_rows<rows, fours, x_is_signed>(p, x, row, panel, y, y_stride);
    }
};

} // namespace

extern const panel_loops neon_i8mm_panels;
constinit const panel_loops neon_i8mm_panels {4,
        {kind_of<by_matrices<1>>(), kind_of<by_matrices<2>>(), kind_of<by_matrices<3>>(), kind_of<by_matrices<4>>()}};

} // namespace dynquant::layers
