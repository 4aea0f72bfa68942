#include "onnxruntime/common/integer_cost.hpp"

#include <numeric>

#include "layers/conv/cost.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnxruntime {

integer_counts counts_in_ort(const layers::integer_convolution &p) {
    constexpr std::int64_t lanes = 16, tile_rows = 6;
    const auto positions = *volume(p.window.y), filters = p.filters / p.groups;
    const auto inner = p.channels / p.groups * *volume(p.window.kernel);
    // The vectors of its convolutions hold positions.
    const auto [across, along] = p.is_channels_first ? std::pair {positions, filters} : std::pair {filters, positions};
    const auto of_groups = [&](auto... factors) {
        return (static_cast<double>(factors) * ... * (static_cast<double>(p.batch) * static_cast<double>(p.groups)));
    };
    const auto copies = p.is_channels_first && !p.window.is_pointwise() ? inner : 0;
    return {
            1,                                                                     // run
            of_groups(),                                                           // groups
            of_groups(ceil_div(across, lanes), inner, along),                      // vectors of products
            of_groups(ceil_div(across, lanes), inner, ceil_div(along, tile_rows)), // vectors that serve a tile of rows
            of_groups(positions, inner),                                           // x, packed
            of_groups(positions, copies),                                          // x, copied for each tap
            of_groups(positions / p.window.y.back(), copies),                      // lines of it
            of_groups(positions, filters),                                         // sums
    };
}

namespace {

/// Nanoseconds: what a run takes here besides layers::least_cost(), and each of the counts there.
struct constants {
    double run;
    integer_counts in_ort;
};
struct constants_of_kinds {
    constants int8_products, uint8_products, convolutions;
};

// `scripts/measure integer_costs` prints these rows, those of ONNX Runtime in the unit of conv/cost.cpp's.
constexpr constants_of_kinds with_avx512_vnni = {
        // Zen 4; 2026-11-29; ONNX Runtime 1.32.
        {7130, {7300, 0, 0.0555, 0.0515, 0.104, 0, 0, 0.465}},
        {8200, {8540, 0, 0.212, 0, 0.237, 0, 0, 0.997}},
        {3110, {3000, 78.5, 0.127, 0.154, 0.0136, 0.0415, 5.89, 0.11}},
};
constexpr constants_of_kinds with_avx_vnni = {
        // Not measured by it: AVX-VNNI. They leave what thresholds from a Zen 4 with AVX-512 left, but for 1, 5 and
        // 15 % of layers near these: up to 2^20 int8 weights; up to 4096 uint8 weights, or rows of them up to 16; one
        // tap of up to 128 channels, or 12 filters and more in a group, of up to 32 weights.
        {1180, {473, 0, 0.0695, 0.0384, 0.00254, 0, 0, 0.656}},
        {2250, {2590, 0, 0, 0.691, 0, 0, 0, 0.621}},
        {2610, {2770, 4.06, 0.115, 0.0475, 0.0596, 0.108, 3.66, 0}},
};
constexpr constants_of_kinds without_vnni = {
        {}, // see costs_less_in_ort()
        // Not measured by it: whole vectors of AVX2. They leave what thresholds from a Zen 3 and a Zen 4 left, but for
        // 8 and 9 % of layers near these: uint8 weights up to 16384, or rows of them up to 56; one tap of up to 128
        // channels or 8 filters; up to 4 channels with at most 4 times as many weights as filters of a group.
        {2740, {1930, 0, 0.0795, 1.59, 0, 0, 0, 0.469}},
        {1820, {1880, 1.43, 0.232, 0.24, 0.0741, 0, 4.53, 0.00579}},
};
constexpr constants_of_kinds with_halves = {
        {},
        // Zen 1; 2026-11-29; ONNX Runtime 1.32.
        {3920, {4290, 0, 0.166, 0.367, 0, 0, 0, 0.644}},
        {2700, {2730, 56.3, 0.142, 0.204, 0.0577, 0, 5.14, 0.0979}},
};
constexpr targets::candidate<const constants_of_kinds *> classes[] = {
        {targets::avx512_vnni, &with_avx512_vnni}, {targets::avx2_vnni, &with_avx_vnni},
        {targets::avx2 | targets::feature::ymm_in_halves, &with_halves}, {targets::avx2, &without_vnni},
        {targets::none, &with_halves}, // leaves uint8 products to ONNX Runtime's vectors
};

constexpr double margin = 1.05; // what is slower is not to be claimed

} // namespace

bool costs_less_in_ort(const layers::integer_convolution &p, bool w_is_signed) {
    const auto &of = *targets::pick(p.available, classes);
    if (w_is_signed && of.int8_products.run == 0) return false; // without VNNI it saturates sums
    const auto &takes = p.is_channels_first ? of.convolutions : w_is_signed ? of.int8_products : of.uint8_products;
    const auto counts = counts_in_ort(p);
    return std::inner_product(counts.begin(), counts.end(), takes.in_ort.begin(), 0.0)
            < margin * (takes.run + layers::least_cost(p));
}

} // namespace dynquant::onnxruntime
