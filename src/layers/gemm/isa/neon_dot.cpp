// panel_product.hpp by sums of four products. An instruction multiplies four columns of weights by one row of x, which
// it takes from a vector that has four elements of up to four rows.
#include "targets/neon_dot.hpp"
#include "layers/gemm/isa/joined_rows.hpp"

namespace dynquant::layers {
namespace {

using V = simd::neon_dot;

template <int vectors>
struct tile {
    static constexpr std::int64_t columns = 4 * vectors;
    static constexpr int step = 4;
    static constexpr bool reads_signed = true, flips = true;
    static constexpr int slots(int rows) { return rows + rows % 2; }
    template <int rows>
    struct sums {
        V::integers of[rows][vectors];
    };

    template <int rows>
    [[gnu::always_inline]] static sums<rows> of(const V::integers (&x)[rows][vectors]) {
        sums<rows> result;
        simd::unroll<rows>([&](int r) __attribute__((always_inline)) {
            simd::unroll<vectors>([&](int v) __attribute__((always_inline)) { result.of[r][v] = x[r][v]; });
        });
        return result;
    }
    template <int rows>
    [[gnu::always_inline]] static void to_rows(const sums<rows> &x, V::integers (&to)[rows][vectors]) {
        simd::unroll<rows>([&](int r) __attribute__((always_inline)) {
            simd::unroll<vectors>([&](int v) __attribute__((always_inline)) { to[r][v] = x.of[r][v]; });
        });
    }

    template <bool x_is_signed, int rows, int slots>
    [[gnu::always_inline]] static void add(
            sums<rows> &to, const std::byte (&x)[slots][step], const std::int8_t *weights) {
        const V::four_of_rows<slots> of_rows(x);
        simd::unroll<vectors>([&](int v) __attribute__((always_inline)) {
            V::add_rows<V>(to.of, v, V::load_bits(weights + 16 * v), of_rows);
        });
    }
};

template <int vectors>
constexpr auto panels = kind_of<by_joined_rows<V, tile<vectors>>>();

} // namespace

extern const panel_loops neon_dot_panels;
constinit const panel_loops neon_dot_panels {4, {panels<1>, panels<2>, panels<3>, panels<4>}};

} // namespace dynquant::layers
