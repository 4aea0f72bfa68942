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

struct constants_of_kinds {
    constants products, convolutions;
    // Convolutions whose windows are copied: where positions fill vectors, and the rows of few positions.
    constants windows, few_positions;
};

// `scripts/measure weight_only_costs` prints these rows. Measured on 2026-11-29, beside ONNX Runtime 1.32.
constexpr constants_of_kinds of_whole_vectors = {
        // A Zen 4 with AVX2 alone; ONNX Runtime's loops have no more than that there either.
        {{4980, 0.306, 0.624, 0.404, 1.16, 0.0341, 0, 0}, {4700, 0.378, 0.249, 0.292, 0.841, 3.88, 1.78, 0.149}},
        {{4910, 0.134, 1.66, 0.689, 1.57, 0.254, 0, 0}, {5350, 0.471, 0.237, 0.0243, 0.941, 3.13, 2, 0}},
        {{5850, 0.417, 0.961, 0.338, 0.292, 0.0216, 46.7, 0}, {4740, 0.46, 0, 0.326, 1.04, 3.86, 164, 0.326}},
        {{6810, 0.211, 1.72, 0.281, 0, 0.0268, 0, 0}, {4230, 0.356, 0.152, 0.192, 1.11, 3.51, 381, 1.01}},
};
constexpr constants_of_kinds of_512_bits = {
        // A Zen 4, which multiplies as many floats by these as by AVX2, in fewer instructions.
        {{3780, 0.207, 0.473, 0.294, 0.805, 0.0948, 0, 0}, {3420, 0.299, 0.199, 0.203, 0.618, 2.66, 1.32, 0.207}},
        {{4380, 0.0699, 1.46, 0.548, 0.781, 0.34, 0, 0}, {4510, 0.391, 0.129, 0.075, 0.84, 2.52, 1.67, 0}},
        {{4900, 0.372, 0.661, 0.11, 0.156, 0, 13.7, 0}, {3900, 0.371, 0, 0.316, 0.872, 3.3, 131, 0.269}},
        {{4600, 0.171, 1.22, 0.133, 0.526, 0.068, 0, 0}, {2830, 0.266, 0, 0.188, 0.871, 2.72, 459, 0.702}},
};
constexpr constants_of_kinds of_halves = {
        // A Zen 1.
        {{10000, 0.669, 2.17, 0.821, 2.07, 0.151, 0, 0}, {8890, 0.745, 0.634, 0.452, 0.755, 7.73, 2.08, 0.756}},
        {{10500, 0.476, 3.58, 1.54, 2.13, 0.336, 0, 0}, {10100, 0.933, 0.442, 0, 0.907, 7.05, 2.1, 7.01}},
        {{12800, 0.984, 1.28, 0.288, 0.439, 0.04, 28.3, 0}, {9040, 0.969, 0, 0.48, 1.03, 7.58, 239, 0.564}},
        {{12200, 0.237, 5.57, 1.42, 0, 0, 0, 0}, {7230, 0.72, 0.49, 0.273, 1.11, 7.6, 850, 1.75}},
};
constexpr targets::candidate<const constants_of_kinds *> classes[] = {
        {targets::avx512, &of_512_bits},
        {targets::avx2 | targets::feature::ymm_in_halves, &of_halves},
        {targets::none, &of_whole_vectors},
};
// What is slower is not to be claimed, and costs of windows are less exact.
constexpr double one_tap_margin = 1.03, windows_margin = 1.12, few_positions_margin = 1.05;

constexpr std::int64_t tile_rows = 6; // layers::weight_only_tile_rows

bool is_float8(data_type type) {
    return type == data_type::f8_e4m3 || type == data_type::f8_e5m2;
}

/// layers::weight_only_layer decides the same.
bool has_vectors_of_positions(const weight_only_extents &e, targets::features available) {
    const auto panel = targets::has(available, targets::avx512) ? 32 : 16;
    return e.has_windows && (e.groups > 1 || e.rows > 64 || e.columns < panel);
}

double cost(const weight_only_counts &counts, const weight_only_counts &takes) {
    return std::inner_product(counts.begin(), counts.end(), takes.begin(), 0.0);
}

} // namespace

counts_on_both_sides counts_of(const weight_only_extents &e, targets::features available) {
    // Half of a panel, two vectors, is what a whole tile of rows computes at least, but for columns that fit in one.
    // Tiles of three vectors, and what fewer rows compute of padding, are in the constants.
    const std::int64_t vector = targets::has(available, targets::avx512) ? 16 : 8;
    const auto unit = e.columns <= vector ? vector : 2 * vector;
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
    if (has_vectors_of_positions(e, available)) {
        const auto sixteens_of_positions = static_cast<double>(round_up(e.rows, vector)) / 16;
        const auto copied = rows * inner * static_cast<double>(e.taps_of_line) / static_cast<double>(e.taps);
        counts.here = {
                1,
                sixteens_of_positions * inner * columns, // vectors of products
                sixteens_of_positions * inner,           // vectors of x
                rows * columns,                          // sums
                weights,                                 // widened
                copied,                                  // x, for each tap of a line
                columns,                                 // planes of sums
        };
    }
    if (e.has_windows) {
        counts.in_ort[6] = 1;            // group
        counts.in_ort[7] = rows * inner; // x, for each tap
    }
    for (auto *const side : {&counts.here, &counts.in_ort})
        for (auto i = side->begin() + 1; i != side->end(); ++i)
            *i *= static_cast<double>(e.groups);
    return counts;
}

bool costs_less_in_ort(const weight_only_extents &e, targets::features available) {
    // Three taps of a depthwise convolution along long lines: copying them takes 0.9 to 1.3 times as long as all of it
    // there, which two dimensions do not. Measured as the constants.
    if (e.has_windows && e.columns == 1 && e.taps <= 3 && e.rows > 500) return true;
    const auto counts = counts_of(e, available);
    const auto costs_less = [&](const constants &takes, double margin) {
        return cost(counts.in_ort, takes.in_ort) < cost(counts.here, takes.here) * margin;
    };
    const auto &of = *targets::pick(available, classes);
    if (!e.has_windows) return costs_less(e.is_convolution ? of.convolutions : of.products, one_tap_margin);
    return has_vectors_of_positions(e, available) ? costs_less(of.windows, windows_margin)
                                                  : costs_less(of.few_positions, few_positions_margin);
}

} // namespace dynquant::onnxruntime
