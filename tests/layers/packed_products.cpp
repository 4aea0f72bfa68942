// Products by the panels of each instruction set are exact, whichever of them this processor would choose.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "dynquant/quantization.hpp"
#include "emulated.hpp"
#include "layers/gemm/packed_product.hpp"
#include "quantization/environment.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {

void PrintTo(const test::tested<const panel_loop *> &of, std::ostream *to) {
    *to << of.name;
}

namespace {

using tested_kind = test::tested<const panel_loop *>;

/// All that this processor can run.
std::vector<tested_kind> runnable_kinds() {
    using namespace targets;
    std::vector<tested_kind> kinds;
    const auto add = [&](const std::string &name, const panel_loops &of) {
        for (int i = 0; i < of.count; ++i)
            kinds.push_back({name, &of.of[i]});
    };
    for (const auto &[name, of] : test::runnable(panels_table))
        if (name != "amx_int8" || request_amx()) add(name, *of);
    for (const auto &[name, of] : test::runnable(word_panels_table))
        kinds.push_back({name + "_words", of});
    if (has(of_processor(), avx2)) add("emulated_avx2_vnni", emulated_avx2_vnni_panels);
    if (has(of_processor(), avx512)) add("emulated_avx512_vnni", emulated_avx512_vnni_panels);
    if (has(of_processor(), avx512_vnni)) add("emulated_amx_int8", emulated_amx_int8_panels);
    for (auto &k : kinds) // the widths of AVX-512 VNNI
        k.name += "_" + std::to_string(k.code->columns);
    return kinds;
}

/// Rows of `lines` lines of `line` elements each, from `stride` to `stride` in memory; lines of one row may overlap
/// those of the next, as the windows of a convolution do.
struct extents {
    std::int64_t rows, lines, line, columns, stride;
};

/// The element of x at a place of a line; the weight in row k, column n.
using element = std::function<int(std::int64_t line, std::int64_t place)>;
using weight = std::function<int(std::int64_t k, std::int64_t n)>;

/// Compares with sums in 64 bits, reduced modulo 2^32. y has room between its rows.
template <typename X>
void expect_exact(const panel_loop &kind, const extents &e, const element &x_at, const weight &w_at) {
    std::vector<std::vector<X>> x(static_cast<std::size_t>(e.lines));
    std::vector<const std::byte *> lines;
    for (auto &of_line : x) {
        for (std::int64_t i = 0; i < e.stride * (e.rows - 1) + e.line; ++i)
            of_line.push_back(static_cast<X>(x_at(std::ssize(lines), i)));
        lines.push_back(reinterpret_cast<const std::byte *>(of_line.data()));
    }
    const auto inner = e.lines * e.line, y_stride = e.columns + 3;
    std::vector<std::int8_t> w;
    for (std::int64_t k = 0; k < inner; ++k)
        for (std::int64_t n = 0; n < e.columns; ++n)
            w.push_back(static_cast<std::int8_t>(w_at(k, n)));
    const packed_product product({std::is_signed_v<X>, inner, 1, e.columns, e.lines}, kind,
            constant_weights::of_matrix(w.data(), e.columns));
    std::vector<std::int32_t> y(static_cast<std::size_t>(e.rows * y_stride), 77), expected = y;
    const auto middle = product.panels() / 2;
    product.run({lines.data(), e.stride, e.rows}, {0, middle}, y.data(), y_stride);
    product.run({lines.data(), e.stride, e.rows}, {middle, product.panels()}, y.data(), y_stride);
    for (std::int64_t m = 0; m < e.rows; ++m)
        for (std::int64_t n = 0; n < e.columns; ++n) {
            std::int64_t sum = 0;
            for (std::int64_t k = 0; k < inner; ++k)
                sum += std::int64_t {x[static_cast<std::size_t>(k / e.line)]
                                      [static_cast<std::size_t>(m * e.stride + k % e.line)]}
                        * w[static_cast<std::size_t>(k * e.columns + n)];
            expected[static_cast<std::size_t>(m * y_stride + n)] =
                    static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
        }
    EXPECT_EQ(y, expected) << e.rows << " rows of " << e.lines << " lines of " << e.line << " by " << e.columns
                           << (std::is_signed_v<X> ? ", s8" : ", u8");
}

/// Tests both types of x, with all values in turn and with the largest magnitude.
void expect_exact_for_any_x(
        const panel_loop &kind, std::int64_t rows, std::int64_t inner, std::int64_t columns, const weight &w_at) {
    const extents e {rows, 1, inner, columns, inner};
    const auto falling = [](std::int64_t, std::int64_t i) { return static_cast<int>(255 - i * 7 % 256); };
    expect_exact<std::uint8_t>(kind, e, falling, w_at);
    expect_exact<std::int8_t>(kind, e, falling, w_at);
    expect_exact<std::uint8_t>(
            kind, e, [](std::int64_t, std::int64_t) { return 255; }, w_at);
    for (const int value : {127, -128})
        expect_exact<std::int8_t>(
                kind, e, [&](std::int64_t, std::int64_t) { return value; }, w_at);
}

class panels : public testing::TestWithParam<tested_kind> {
  protected:
#if defined(__x86_64__)
    void TearDown() override {
        if (targets::has(targets::of_processor(), targets::avx512_vnni)) { // the emulation's own code needs it
            EXPECT_EQ(test::emulated_state().faults, 0);
        }
    }
#endif
    static const panel_loop &kind() {
        return *GetParam().code;
    }
};

TEST_P(panels, each_remainder_of_each_extent) {
    const auto w_at = [](std::int64_t k, std::int64_t n) { return static_cast<int>((k * 37 + n * 11) % 61 - 30); };
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 12, 13, 16, 17, 33})
        for (const std::int64_t inner : {1, 2, 3, 4, 5, 7, 64, 66})
            for (const std::int64_t columns : {1, 15, 16, 17, 33, 64, 65})
                expect_exact_for_any_x(kind(), rows, inner, columns, w_at);
}

TEST_P(panels, rows_of_several_lines) {
    const auto x_at = [](std::int64_t line, std::int64_t i) { return static_cast<int>((i * 37 + line * 101) % 256); };
    const auto w_at = [](std::int64_t k, std::int64_t n) {
        return static_cast<int>((k * k * 3 + k * 7 + n * 29) % 256 - 128);
    };
    for (const std::int64_t lines : {1, 2, 9})
        for (const std::int64_t line : {1, 3, 4, 6, 65, 96})
            for (const std::int64_t rows : {1, 4, 5, 7, 11, 12, 13, 26, 40})
                for (const std::int64_t columns : {1, 16, 17, 49, 80, 130}) {
                    expect_exact<std::uint8_t>(kind(), {rows, lines, line, columns, line / 2 + 1}, x_at, w_at);
                    expect_exact<std::int8_t>(kind(), {rows, lines, line, columns, line / 2 + 1}, x_at, w_at);
                }
}

TEST_P(panels, the_largest_weights_everywhere) {
    for (const int value : {127, -128})
        for (const std::int64_t inner : {1, 2, 3, 4, 31, 258})
            expect_exact_for_any_x(kind(), 7, inner, 18, [&](std::int64_t, std::int64_t) { return value; });
}

TEST_P(panels, weights_of_all_values_and_signs) {
    for (const std::int64_t step : {1, 7, 85, 127, 131})
        expect_exact_for_any_x(kind(), 8, 301, 37,
                [&](std::int64_t k, std::int64_t n) { return static_cast<int>((k * step + n * 53) % 256 - 128); });
}

TEST_P(panels, large_weights_here_and_there) {
    for (const std::int64_t every : {3, 5, 18, 67})
        expect_exact_for_any_x(kind(), 6, 400, 20, [&](std::int64_t k, std::int64_t n) {
            if ((k + n) % every > 1) return static_cast<int>((k + n) % 9 - 4);
            return (k + n) / every % 2 == 0 ? 127 : -128;
        });
}

TEST_P(panels, more_than_a_chunk_and_many_rows) {
    const auto w_at = [](std::int64_t k, std::int64_t n) { return static_cast<int>((k * 31 + n * 17) % 256 - 128); };
    expect_exact_for_any_x(kind(), 13, 1031, 700, w_at);
    for (const std::int64_t rows : {63, 64, 1000})
        expect_exact_for_any_x(kind(), rows, 133, 21, w_at);
}

TEST_P(panels, more_elements_than_are_joined_at_once) {
    const auto x_at = [](std::int64_t line, std::int64_t i) { return static_cast<int>((i * 37 + line * 101) % 256); };
    const auto w_at = [](std::int64_t k, std::int64_t n) { return static_cast<int>((k * 31 + n * 17) % 256 - 128); };
    for (const std::int64_t inner : {2048, 2049, 4101})
        expect_exact_for_any_x(kind(), 9, inner, 35, w_at);
    expect_exact<std::uint8_t>(kind(), {7, 3, 1413, 35, 1413}, x_at, w_at);
    expect_exact<std::int8_t>(kind(), {7, 3, 1413, 35, 1413}, x_at, w_at);
}

/// Compares what zero points and an ending make of sums with each operation by itself, all panels at once.
template <typename X>
void expect_ended(
        const panel_loop &kind, const extents &e, bool has_initial, bool has_floats, bool is_clipped = false) {
    std::vector<X> x;
    for (std::int64_t i = 0; i < e.rows * e.line; ++i)
        x.push_back(static_cast<X>(i * 37 % 256));
    std::vector<std::int8_t> w;
    for (std::int64_t i = 0; i < e.line * e.columns; ++i)
        w.push_back(static_cast<std::int8_t>(i % 5 == 0 ? 127 : i * 31 % 256));
    std::vector<std::int32_t> zero_points, initial, sums(static_cast<std::size_t>(e.rows));
    std::vector<float> factors, summands;
    for (std::int64_t n = 0; n < e.columns + packed_product::padding_columns; ++n) {
        if (n < e.columns) zero_points.push_back(static_cast<std::int32_t>(n * 29 % 256 - 128));
        initial.push_back(static_cast<std::int32_t>(0x7fffffff - n * 4099)); // sums wrap
        factors.push_back(0.1F * static_cast<float>(n + 1));
        summands.push_back(1e6F / static_cast<float>(n + 3));
    }
    const packed_product product({std::is_signed_v<X>, e.line, 1, e.columns, 1, zero_points}, kind,
            constant_weights::of_matrix(w.data(), e.columns));
    const auto *const line = reinterpret_cast<const std::byte *>(x.data());
    indirect_rows rows {&line, e.line, e.rows, sums.data()};
    product.sum_rows(rows, {0, e.rows}, sums.data());
    if (has_initial) rows.ending.initial = initial.data();
    if (has_floats) rows.ending = {rows.ending.initial, factors.data(), summands.data()};
    if (is_clipped) {
        factors.front() = std::numeric_limits<float>::quiet_NaN(); // stays
        rows.ending.lower = -2e5F;
        rows.ending.upper = 3e5F;
    }
    std::vector<std::int32_t> y(static_cast<std::size_t>(e.rows * (e.columns + 3)), 77), expected = y;
    product.run(rows, {0, product.panels()}, y.data(), e.columns + 3);
    for (std::int64_t m = 0; m < e.rows; ++m)
        for (std::int64_t n = 0; n < e.columns; ++n) {
            const auto of_column = static_cast<std::size_t>(n);
            std::int64_t sum = has_initial ? initial[of_column] : 0;
            for (std::int64_t k = 0; k < e.line; ++k)
                sum += std::int64_t {x[static_cast<std::size_t>(m * e.line + k)]}
                        * (w[static_cast<std::size_t>(k * e.columns + n)] - zero_points[of_column]);
            auto &to = expected[static_cast<std::size_t>(m * (e.columns + 3) + n)];
            to = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
            if (!has_floats) continue;
            const volatile float scaled = static_cast<float>(to) * factors[of_column]; // no fused operation
            float result = scaled + summands[of_column];
            if (is_clipped && result < -2e5F) result = -2e5F;
            if (is_clipped && result > 3e5F) result = 3e5F;
            std::memcpy(&to, &result, sizeof to);
        }
    EXPECT_EQ(y, expected) << e.rows << " rows of " << e.line << " by " << e.columns
                           << (std::is_signed_v<X> ? ", s8" : ", u8") << (has_initial ? ", initial sums" : "")
                           << (has_floats ? ", floats" : "") << (is_clipped ? ", clipped" : "");
}

TEST_P(panels, endings_and_zero_points_of_weights) {
    for (const std::int64_t rows : {1, 4, 5, 6, 17, 33, 70})
        for (const std::int64_t inner : {1, 3, 64, 70, 2100})
            for (const std::int64_t columns : {1, 15, 16, 17, 33, 64, 65}) {
                const extents e {rows, 1, inner, columns, inner};
                expect_ended<std::int8_t>(kind(), e, false, false);
                for (const bool has_initial : {false, true})
                    for (const bool has_floats : {false, true})
                        expect_ended<std::uint8_t>(kind(), e, has_initial, has_floats);
                expect_ended<std::uint8_t>(kind(), e, false, true, true);
            }
}

/// Each row of x has one 1, so that a row of y is a row of weights: uint8 ones, less 128.
TEST_P(panels, filters_of_channels_and_taps) {
    for (const std::int64_t channels : {1, 2, 3, 4, 5, 8, 70, 300})
        for (const std::int64_t taps : {1, 2, 3, 9})
            for (const std::int64_t columns : {1, 16, 37, 65}) {
                const auto rows = channels * taps;
                const auto weight_at = [&](std::int64_t n, std::int64_t channel, std::int64_t tap) {
                    return (n * 41 + channel * 7 + tap * 89) % 256;
                };
                std::vector<std::uint8_t> w;
                for (std::int64_t i = 0; i < columns * rows; ++i)
                    w.push_back(static_cast<std::uint8_t>(weight_at(i / rows, i % rows / taps, i % taps)));
                auto weights = constant_weights::of_filters(w.data(), channels, taps);
                weights.flip = 0x80;
                const packed_product product({false, channels, taps, columns, taps}, kind(), weights);
                std::vector<std::byte> x(static_cast<std::size_t>(rows * rows));
                for (std::int64_t k = 0; k < rows; ++k)
                    x[static_cast<std::size_t>(k * rows + k)] = std::byte {1};
                std::vector<const std::byte *> lines;
                for (std::int64_t tap = 0; tap < taps; ++tap)
                    lines.push_back(x.data() + tap * channels);
                std::vector<std::int32_t> y(static_cast<std::size_t>(rows * columns), 77), expected,
                        sums(static_cast<std::size_t>(columns));
                product.run({lines.data(), rows, rows}, {0, product.panels()}, y.data(), columns);
                for (std::int64_t k = 0; k < rows; ++k)
                    for (std::int64_t n = 0; n < columns; ++n) {
                        expected.push_back(static_cast<std::int32_t>(weight_at(n, k % channels, k / channels) - 128));
                        sums[static_cast<std::size_t>(n)] += expected.back();
                    }
                EXPECT_EQ(y, expected) << channels << " channels, " << taps << " taps, " << columns << " columns";
                EXPECT_EQ(product.weight_sums(), sums);
            }
}

#if defined(__x86_64__)
/// Another library's configuration of this thread outlives a product.
TEST(emulated_amx_int8, keeps_the_configuration_that_it_finds) {
    if (!targets::has(targets::of_processor(), targets::avx512_vnni))
        GTEST_SKIP() << "the processor has no AVX-512 VNNI";
    const test::emulated_tile_configuration given = {1, 0, {}, {64, 32}, {16, 7}};
    test::load_emulated_configuration(given);
    expect_exact_for_any_x(emulated_amx_int8_panels.of[0], 40, 64, 32, [](std::int64_t, std::int64_t) { return 1; });
    const auto left = test::emulated_state();
    EXPECT_EQ(std::memcmp(&left.configuration, &given, sizeof given), 0);
    EXPECT_EQ(left.faults, 0);
    test::load_emulated_configuration({});
}
#endif

INSTANTIATE_TEST_SUITE_P(of, panels, testing::ValuesIn(runnable_kinds()), [](const auto &of) { return of.param.name; });

TEST(packed_product, without_channels_is_zero) {
    const packed_product product({false, 0, 1, 5}, {}, environment::usable_features());
    std::vector<std::int32_t> y(15, 77);
    const std::byte *line = nullptr;
    product.run({&line, 0, 3}, {0, product.panels()}, y.data(), 5);
    EXPECT_EQ(y, std::vector<std::int32_t>(15));
}

TEST(packed_product, takes_uint8_weights_128_less_and_strided_ones) {
    // Two filters of two channels and two taps; rows of the product: tap 0 of both channels, then tap 1.
    const std::uint8_t w[] = {128, 129, 130, 131, 0, 255, 127, 100};
    const auto weights = [&] {
        auto result = constant_weights::of_filters(w, 2, 2);
        result.flip = 0x80;
        return result;
    }();
    const packed_product product({false, 2, 2, 2}, weights, environment::usable_features());
    EXPECT_EQ(product.weight_sums(), (std::vector<std::int32_t> {0 + 1 + 2 + 3, -128 + 127 - 1 - 28}));
    const std::uint8_t x[] = {1, 10, 100, 200};
    const auto *line = reinterpret_cast<const std::byte *>(x);
    std::int32_t y[2] = {};
    product.run({&line, 4, 1}, {0, product.panels()}, y, 2);
    EXPECT_EQ(y[0], 1 * 0 + 10 * 2 + 100 * 1 + 200 * 3);
    EXPECT_EQ(y[1], 1 * -128 + 10 * -1 + 100 * 127 + 200 * -28);
}

/// With AVX-512 the columns are cut to panels of one or two widths.
TEST(packed_product, runs_any_panels_of_any_columns) {
    const std::int64_t inner = 3, rows = 7;
    const std::uint8_t x[rows][inner] = {
            {5, 6, 7}, {0, 255, 1}, {9, 0, 0}, {1, 2, 3}, {4, 4, 4}, {200, 100, 3}, {8, 7, 6}};
    const auto *line = reinterpret_cast<const std::byte *>(x);
    for (std::int64_t columns = 1; columns <= 300; ++columns) {
        std::vector<std::int8_t> w;
        std::vector<std::int32_t> zero_points;
        for (std::int64_t i = 0; i < inner * columns; ++i)
            w.push_back(static_cast<std::int8_t>(i * 37 % 251 - 125));
        for (std::int64_t n = 0; n < columns; ++n)
            zero_points.push_back(static_cast<std::int32_t>(n - 30));
        const packed_product product({false, inner, 1, columns, 1, zero_points},
                constant_weights::of_matrix(w.data(), columns), environment::usable_features());
        std::vector<std::int32_t> y(static_cast<std::size_t>(rows * columns), 77), expected;
        const auto weight = [&](std::int64_t k, std::int64_t n) {
            return w[static_cast<std::size_t>(k * columns + n)] - zero_points[static_cast<std::size_t>(n)];
        };
        for (const auto &row : x)
            for (std::int64_t n = 0; n < columns; ++n)
                expected.push_back(row[0] * weight(0, n) + row[1] * weight(1, n) + row[2] * weight(2, n));
        const auto middle = columns % (product.panels() + 1);
        std::vector<std::int32_t> row_sums(rows, 77);
        product.sum_rows({&line, inner, rows}, {0, rows}, row_sums.data());
        const indirect_rows x_rows {&line, inner, rows, row_sums.data()};
        product.run(x_rows, {0, middle}, y.data(), columns);
        product.run(x_rows, {middle, product.panels()}, y.data(), columns);
        EXPECT_EQ(y, expected) << columns;
        for (std::int64_t n = 0; n < columns; ++n)
            EXPECT_EQ(product.weight_sums()[static_cast<std::size_t>(n)], weight(0, n) + weight(1, n) + weight(2, n));
    }
}

/// A run reads all of a panel: one that is wider than its columns by a whole vector takes longer for nothing.
TEST(packed_product, pads_columns_to_whole_vectors_alone) {
    const std::int64_t inner = 3; // too few for tiles
    const auto available = environment::usable_features() & ~targets::feature::amx_int8;
    const auto &narrowest = (*targets::pick(available, panels_table)).of[0];
    const std::vector<std::int8_t> w(static_cast<std::size_t>(inner * 300), 1); // no excess, so that bytes multiply
    for (std::int64_t columns = 1; columns <= 300; ++columns) {
        const packed_product product(
                {false, inner, 1, columns}, constant_weights::of_matrix(w.data(), columns), available);
        EXPECT_EQ(product.bytes(), round_up(inner, narrowest.depth) * round_up(columns, narrowest.columns)) << columns;
    }
}

using bytes = std::vector<std::int8_t>;

using excess_of_panels = std::vector<excess_weights::weight>;

excess_of_panels excess_of(const saturation_excess &of, std::size_t panels) {
    const auto all = of.weights();
    return {all.weights, all.weights + all.begin[panels]};
}

TEST(saturation_excess, what_255_times_two_weights_has_beyond_16_bits) {
    // Two columns, each of four elements: 127 + 127 is 126 more than 128; -100 - 128 is 100 less than -128.
    bytes panel = {127, 127, 64, 64, -100, -128, 127, -128};
    saturation_excess excess(8);
    excess.take_from(panel, 2);
    EXPECT_EQ(panel, (bytes {1, 127, 64, 64, 0, -128, 127, -128}));
    EXPECT_EQ(excess_of(excess, 1), (excess_of_panels {{0, 0, 0, 126}, {0, 0, 1, -100}}));
}

TEST(saturation_excess, of_all_pairs_of_five_vectors) {
    // Three columns of 28 rows are 84 bytes, of which the last four are less than a vector. -128 - 128 has the most.
    const std::int64_t columns = 3, rows = 28;
    bytes panel(columns * rows, -128);
    saturation_excess excess(rows);
    excess.take_from(panel, columns);
    excess_of_panels expected;
    for (std::int32_t four = 0; four < rows; four += 4)
        for (std::int16_t n = 0; n < columns; ++n)
            for (std::int32_t pair = 0; pair < 4; pair += 2)
                expected.push_back({0, four + pair, n, -128});
    EXPECT_EQ(excess_of(excess, 1), expected);
    bytes rest;
    for (std::int64_t i = 0; i < columns * rows; i += 2)
        rest.insert(rest.end(), {0, -128});
    EXPECT_EQ(panel, rest);
}

TEST(saturation_excess, of_panels_one_after_another) {
    bytes first = {127, 2, 0, 0}, none = {127, 1, -128, 0}, last = {0, 0, -127, -127};
    saturation_excess excess(8);
    excess.take_from(first, 1);
    excess.take_from(none, 1);
    excess.take_from(last, 1);
    const auto *const begin = excess.weights().begin;
    EXPECT_EQ((std::vector<std::int64_t> {begin, begin + 4}), (std::vector<std::int64_t> {0, 1, 1, 2}));
    EXPECT_EQ(first, (bytes {126, 2, 0, 0}));
    EXPECT_EQ(none, (bytes {127, 1, -128, 0}));
    EXPECT_EQ(last, (bytes {0, 0, -1, -127}));
    EXPECT_EQ(excess_of(excess, 3), (excess_of_panels {{0, 0, 0, 1}, {0, 2, 0, -126}}));
}

TEST(saturation_excess, of_two_lines) {
    // One column, two lines of four rows: 127 + 127 in rows 2 and 3 of the first, and in rows 0 and 1 of the second.
    bytes panel = {0, 0, 127, 127, 127, 127, 0, 0};
    saturation_excess excess(4);
    excess.take_from(panel, 1);
    EXPECT_EQ(excess_of(excess, 1), (excess_of_panels {{0, 2, 0, 126}, {1, 0, 0, 126}}));
}

} // namespace
} // namespace dynquant::layers
