// panel_product.hpp by products of matrices: an instruction multiplies two rows of x by two columns, eight bytes of
// each, which is twice what one multiplies by sums of four products. Panels interleave eight rows.
#include "targets/neon_i8mm.hpp"
#include "layers/gemm/isa/joined_rows.hpp"

namespace dynquant::layers {
namespace {

using V = simd::neon_i8mm;

template <int vectors>
struct tile {
    static constexpr std::int64_t columns = 4 * vectors;
    static constexpr int step = 8;
    static constexpr bool reads_signed = false, flips = false; // there are instructions for both
    static constexpr int slots(int rows) { return rows + rows % 2; }
    template <int rows>
    struct sums {
        V::integers of[(rows + 1) / 2][2 * vectors]; // of pairs of rows and of columns
    };

    template <int rows>
    [[gnu::always_inline]] static sums<rows> of(const V::integers (&x)[rows][vectors]) {
        sums<rows> result;
        simd::unroll<(rows + 1) / 2>([&](int r) __attribute__((always_inline)) {
            const auto &even = x[2 * r], &odd = x[std::min(2 * r + 1, rows - 1)];
            simd::unroll<2 * vectors>([&](int c) __attribute__((always_inline)) {
                result.of[r][c] = V::pairs_of(even[c / 2], odd[c / 2], c % 2 != 0);
            });
        });
        return result;
    }
    template <int rows>
    [[gnu::always_inline]] static void to_rows(const sums<rows> &x, V::integers (&to)[rows][vectors]) {
        simd::unroll<rows>([&](int r) __attribute__((always_inline)) {
            const auto &of_two = x.of[r / 2];
            simd::unroll<vectors>([&](int v) __attribute__((always_inline)) {
                to[r][v] = V::pairs_of(of_two[2 * v], of_two[2 * v + 1], r % 2 != 0);
            });
        });
    }

    template <bool x_is_signed, int rows, int slots>
    [[gnu::always_inline]] static void add(
            sums<rows> &to, const std::byte (&x)[slots][step], const std::int8_t *weights) {
        V::integers of_two[slots / 2];
        simd::unroll<slots / 2>([&](int r) __attribute__((always_inline)) { of_two[r] = V::load_bits(x[2 * r]); });
        simd::unroll<2 * vectors>([&](int c) __attribute__((always_inline)) {
            const auto w = V::load_bits(weights + 16 * c);
            simd::unroll<slots / 2>([&](int r) __attribute__((always_inline)) {
                to.of[r][c] = V::multiply_rows<x_is_signed>(to.of[r][c], of_two[r], w);
            });
        });
    }
};

template <int vectors>
constexpr auto panels = kind_of<by_joined_rows<V, tile<vectors>>>();

} // namespace

extern const panel_loops neon_i8mm_panels;
constinit const panel_loops neon_i8mm_panels {4, {panels<1>, panels<2>, panels<3>, panels<4>}};

} // namespace dynquant::layers
