#include "onnxruntime/common/weight_only_cost.hpp"

#include <numeric>
#include <utility>

#include "quantization/shape.hpp"

namespace dynquant::onnxruntime {
namespace {

/// Nanoseconds that each count takes: of products, and of convolutions.
struct constants {
    weight_only_counts here, in_ort;
};

// `scripts/measure weight_only_costs` prints these rows. Measured on a Zen 4 with AVX2 alone on 2026-11-29, beside ONNX
// Runtime 1.32, whose loops have no more than that there either. Wider vectors keep them: a Zen 4 multiplies as many
// floats by these.
constexpr constants of_products = {
        {4980, 0.306, 0.624, 0.404, 1.16, 0.0341, 0, 0},
        {4700, 0.378, 0.249, 0.292, 0.841, 3.88, 1.78, 0.149},
};
constexpr constants of_convolutions = {
        {4910, 0.134, 1.66, 0.689, 1.57, 0.254, 0, 0},
        {5350, 0.471, 0.237, 0.0243, 0.941, 3.13, 2, 0},
};
// Fitted to the least of 1.2 s for each of 32 convolutions of int8 and of int4 weights, with few and many positions;
// what they take here is 1.13 times that, and sums there half, so that none of the 32 that was slower is claimed.
// Float8 as int4. Zen 4 with AVX2 alone; 2026-11-29.
constexpr constants of_windows = {
        {7300, 0.364, 0.977, 0, 9.15, 0.99, 0, 0},
        {5280, 0.407, 1.3, 0.17, 1.1, 1.1, 1.97, 0},
};

constexpr std::int64_t tile_rows = 6; // layers::weight_only_tile_rows

bool is_float8(data_type type) {
    return type == data_type::f8_e4m3 || type == data_type::f8_e5m2;
}

double cost(const weight_only_counts &counts, const weight_only_counts &takes) {
    return std::inner_product(counts.begin(), counts.end(), takes.begin(), 0.0);
}

} // namespace

counts_on_both_sides counts_of(const weight_only_extents &e, targets::features available) {
    // Two vectors are half of a panel, and what a tile of rows computes at least.
    const std::int64_t unit = targets::has(available, targets::avx512) ? 32 : 16;
    const auto rows = static_cast<double>(e.rows), inner = static_cast<double>(e.inner);
    const auto sixteens = static_cast<double>(round_up(e.columns, unit)) / 16;
    const auto tiles = static_cast<double>(ceil_div(e.rows, tile_rows));
    const auto blocks = e.block == 0 ? 1.0 : static_cast<double>(ceil_div(e.inner, e.block));
    const auto columns = static_cast<double>(e.columns), weights = inner * columns;
    // The vectors of its convolutions hold positions.
    const auto [across, along] = e.is_convolution ? std::pair {e.rows, columns} : std::pair {e.columns, rows};
    const auto in_ort = static_cast<double>(round_up(across, std::int64_t {16})) / 16 * along * inner;
    const bool is_narrow = e.weights == data_type::s4 || e.weights == data_type::u4;
    counts_on_both_sides counts {
            {
                    1,
                    rows * inner * sixteens,  // vectors of products
                    tiles * inner * sixteens, // vectors of weights, which each tile of rows widens
                    rows * columns,           // sums
                    rows * blocks * sixteens, // vectors of sums of blocks, which their scales multiply
                    rows * inner,             // x
            },
            {
                    1,
                    in_ort,         // vectors of products
                    rows * columns, // sums
                    weights,        // dequantized
                    is_narrow ? weights : 0, is_float8(e.weights) ? weights : 0, e.scales_are_along_rows ? weights : 0,
                    e.block == 0 ? 0 : blocks * columns, // scales
            }};
    for (auto *const side : {&counts.here, &counts.in_ort})
        for (auto i = side->begin() + 1; i != side->end(); ++i)
            *i *= static_cast<double>(e.groups);
    return counts;
}

bool costs_less_in_ort(const weight_only_extents &e, targets::features available) {
    const auto counts = counts_of(e, available);
    const auto &takes = e.has_windows ? of_windows : e.is_convolution ? of_convolutions : of_products;
    return cost(counts.in_ort, takes.in_ort) < cost(counts.here, takes.here);
}

} // namespace dynquant::onnxruntime
