// Each implementation of the integer product is exact, whichever of them this processor would choose.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "dynquant/quantization.hpp"
#include "layers/product_slice.hpp"
#include "layers/saturation_excess.hpp"

using dynquant::layers::any_rows_slice;
using dynquant::layers::product_slice;
using dynquant::layers::saturation_excess;

namespace {

struct extents {
    std::int64_t rows, inner, columns;
};

using make_slice =
        std::function<std::unique_ptr<const product_slice>(const product_slice::problem &, const std::int8_t *)>;

/// A sum in 64 bits, reduced modulo 2^32.
template <typename X>
std::vector<std::int32_t> sums_of(const extents &e, const std::vector<X> &x, const std::vector<std::int8_t> &w) {
    std::vector<std::int32_t> sums;
    for (std::int64_t m = 0; m < e.rows; ++m)
        for (std::int64_t n = 0; n < e.columns; ++n) {
            std::int64_t sum = 0;
            for (std::int64_t k = 0; k < e.inner; ++k)
                sum += std::int64_t {x[static_cast<std::size_t>(m * e.inner + k)]}
                        * w[static_cast<std::size_t>(k * e.columns + n)];
            sums.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
        }
    return sums;
}

/// The weight in row k, column n.
using weight = std::function<int(std::int64_t k, std::int64_t n)>;

template <typename X>
void expect_exact(
        const make_slice &make, const extents &e, const std::function<int(std::int64_t)> &x_at, const weight &w_at) {
    std::vector<X> x;
    for (std::int64_t i = 0; i < e.rows * e.inner; ++i)
        x.push_back(static_cast<X>(x_at(i)));
    std::vector<std::int8_t> w;
    for (std::int64_t k = 0; k < e.inner; ++k)
        for (std::int64_t n = 0; n < e.columns; ++n)
            w.push_back(static_cast<std::int8_t>(w_at(k, n)));
    w.push_back(0); // data() of an empty vector may be null
    const auto slice = make({std::is_signed_v<X>, e.rows, e.inner, e.columns}, w.data());
    if (!slice) return; // not for this shape: make_few_rows_slice has a limit of rows
    const auto expected = sums_of(e, x, w);
    std::vector<std::int32_t> y(expected.size() + 1, 77);
    x.push_back(0);
    slice->run(reinterpret_cast<const std::byte *>(x.data()), y.data());
    EXPECT_EQ(y.back(), 77) << "written beyond the end";
    y.pop_back();
    EXPECT_EQ(y, expected) << e.rows << "x" << e.inner << " by " << e.columns
                           << (std::is_signed_v<X> ? ", s8" : ", u8");
}

/// Tests both types of x, with all values in turn and with the largest magnitude.
void expect_exact_for_any_x(const make_slice &make, const extents &e, const weight &w_at) {
    expect_exact<std::uint8_t>(
            make, e, [](std::int64_t i) { return static_cast<int>(255 - i * 7 % 256); }, w_at);
    expect_exact<std::uint8_t>(
            make, e, [](std::int64_t) { return 255; }, w_at);
    expect_exact<std::int8_t>(
            make, e, [](std::int64_t i) { return static_cast<int>(127 - i * 7 % 256); }, w_at);
    expect_exact<std::int8_t>(
            make, e, [](std::int64_t) { return 127; }, w_at);
    expect_exact<std::int8_t>(
            make, e, [](std::int64_t) { return -128; }, w_at);
}

struct named {
    const char *name;
    make_slice make;
};

void PrintTo(const named &of, std::ostream *to) {
    *to << of.name;
}

std::unique_ptr<const any_rows_slice> make_vector(const product_slice::problem &p, const std::int8_t *w) {
    return dynquant::layers::make_vector_slice(p, w);
}

std::unique_ptr<const any_rows_slice> make_avx2(const product_slice::problem &given, const std::int8_t *w) {
    auto p = given;
    p.available &= dynquant::targets::avx2;
    return dynquant::layers::make_vector_slice(p, w);
}

std::unique_ptr<const any_rows_slice> make_plain(const product_slice::problem &p, const std::int8_t *w) {
    return dynquant::layers::make_plain_slice(p, w);
}

/// The implementations that this processor has.
std::vector<named> available_slices() {
    std::vector<named> result;
    const std::int8_t w = 1;
    for (const auto &of : {named {"few_rows", dynquant::layers::make_few_rows_slice}, named {"vector", make_vector},
                 named {"avx2", make_avx2}, named {"plain", make_plain}})
        if (of.make({false, 1, 1, 1}, &w)) result.push_back(of);
    return result;
}

bool has_avx2() {
    return dynquant::targets::has(dynquant::environment::usable_features(), dynquant::targets::avx2);
}

TEST(product_slices, vectors_wherever_there_is_avx2) {
    const std::int8_t w = 1;
    for (const std::int64_t rows : {1, 1000})
        EXPECT_EQ(dynquant::layers::make_vector_slice({false, rows, 1, 1}, &w) != nullptr, has_avx2());
    EXPECT_NE(dynquant::layers::make_plain_slice({false, 1, 1, 1}, &w), nullptr);
    const product_slice::problem capped {false, 1, 1, 1, 1, dynquant::targets::scalar};
    EXPECT_EQ(dynquant::layers::make_vector_slice(capped, &w), nullptr);
    EXPECT_EQ(dynquant::layers::make_few_rows_slice(capped, &w), nullptr);
}

class each_slice : public testing::TestWithParam<named> {};

TEST_P(each_slice, each_remainder_of_each_extent) {
    const auto w_at = [](std::int64_t k, std::int64_t n) { return static_cast<int>((k * 37 + n * 11) % 61 - 30); };
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 12, 13})
        for (const std::int64_t inner : {0, 1, 2, 3, 4, 5, 7, 64, 66})
            for (const std::int64_t columns : {1, 15, 16, 17, 33, 64, 65})
                expect_exact_for_any_x(GetParam().make, {rows, inner, columns}, w_at);
}

TEST_P(each_slice, the_largest_weights_everywhere) {
    for (const int value : {127, -128})
        for (const std::int64_t inner : {1, 2, 3, 4, 31, 258})
            expect_exact_for_any_x(GetParam().make, {7, inner, 18}, [&](std::int64_t, std::int64_t) { return value; });
}

TEST_P(each_slice, weights_of_all_values_and_signs) {
    for (const std::int64_t step : {1, 7, 85, 127, 131})
        expect_exact_for_any_x(GetParam().make, {8, 301, 37},
                [&](std::int64_t k, std::int64_t n) { return static_cast<int>((k * step + n * 53) % 256 - 128); });
}

TEST_P(each_slice, large_weights_here_and_there) {
    for (const std::int64_t every : {3, 5, 18, 67})
        expect_exact_for_any_x(GetParam().make, {6, 400, 20}, [&](std::int64_t k, std::int64_t n) {
            if ((k + n) % every > 1) return static_cast<int>((k + n) % 9 - 4);
            return (k + n) / every % 2 == 0 ? 127 : -128;
        });
}

TEST_P(each_slice, more_panels_than_a_chunk) {
    expect_exact_for_any_x(GetParam().make, {13, 1031, 700},
            [](std::int64_t k, std::int64_t n) { return static_cast<int>((k * 31 + n * 17) % 256 - 128); });
}

TEST_P(each_slice, many_rows_of_a_panel) {
    for (const std::int64_t rows : {63, 64, 1000})
        expect_exact_for_any_x(GetParam().make, {rows, 133, 21},
                [](std::int64_t k, std::int64_t n) { return static_cast<int>((k * 31 + n * 17) % 256 - 128); });
}

INSTANTIATE_TEST_SUITE_P(of_this_processor, each_slice, testing::ValuesIn(available_slices()),
        [](const auto &of) { return std::string(of.param.name); });

using bytes = std::vector<std::int8_t>;

using elements = std::vector<std::int32_t>; // in their line

/// The excess of the first panel.
bytes excess_of(const saturation_excess &of, std::int64_t columns) {
    const auto s = of.steps();
    return {s.weights, s.weights + s.begin[1] * 4 * columns};
}
elements elements_of(const saturation_excess &of) {
    const auto s = of.steps();
    elements result;
    std::transform(s.elements, s.elements + s.begin[1] * 4, std::back_inserter(result),
            [](const auto &element) { return element.index; });
    return result;
}

TEST(saturation_excess, what_255_times_two_weights_has_beyond_16_bits) {
    // Two columns, each of four elements: 127 + 127 is 126 more than 128; -100 - 128 is 100 less than -128.
    bytes panel = {127, 127, 64, 64, -100, -128, 127, -128};
    saturation_excess excess(8);
    excess.take_from(panel, 2);
    EXPECT_EQ(panel, (bytes {1, 127, 64, 64, 0, -128, 127, -128}));
    EXPECT_EQ(excess.steps().begin[1], 1);
    EXPECT_EQ(elements_of(excess), (elements {0, 0, 0, 0}));
    EXPECT_EQ(excess_of(excess, 2), (bytes {126, 0, 0, 0, -100, 0, 0, 0}));
}

TEST(saturation_excess, share_a_step_unless_they_are_beyond_16_bits_together) {
    // One column with excess 22, 72, 106 and 42, added in pairs. 255 * (22 + 72) fits in 16 bits, 255 * (106 + 42) does
    // not, so 42 starts the next step.
    bytes panel = {75, 75, 100, 100, 117, 117, 85, 85};
    saturation_excess excess(8);
    excess.take_from(panel, 1);
    EXPECT_EQ(panel, (bytes {53, 75, 28, 100, 11, 117, 43, 85}));
    EXPECT_EQ(excess.steps().begin[1], 2);
    EXPECT_EQ(excess_of(excess, 1), (bytes {22, 72, 106, 0, 42, 0, 0, 0}));
    EXPECT_EQ(elements_of(excess), (elements {0, 2, 4, 0, 6, 0, 0, 0}));
}

TEST(saturation_excess, panels_share_no_step) {
    bytes first = {127, 2, 0, 0}, none = {127, 1, -128, 0}, last = {0, 0, -127, -127};
    saturation_excess excess(8);
    excess.take_from(first, 1);
    excess.take_from(none, 1);
    excess.take_from(last, 1);
    const auto s = excess.steps();
    EXPECT_EQ((std::vector<std::int64_t> {s.begin, s.begin + 4}), (std::vector<std::int64_t> {0, 1, 1, 2}));
    EXPECT_EQ(first, (bytes {126, 2, 0, 0}));
    EXPECT_EQ(none, (bytes {127, 1, -128, 0}));
    EXPECT_EQ(last, (bytes {0, 0, -1, -127}));
    EXPECT_EQ((bytes {s.weights, s.weights + 8}), (bytes {1, 0, 0, 0, -126, 0, 0, 0}));
    EXPECT_EQ(s.elements[4].index, 2);
}

TEST(saturation_excess, elements_of_two_lines) {
    // One column, two lines of four rows: 127 + 127 in rows 2 and 3 of the first, and in rows 0 and 1 of the second.
    bytes panel = {0, 0, 127, 127, 127, 127, 0, 0};
    saturation_excess excess(4);
    excess.take_from(panel, 1);
    const auto *elements = excess.steps().elements;
    EXPECT_EQ(elements[0], (dynquant::layers::excess_steps::element {0, 2}));
    EXPECT_EQ(elements[2], (dynquant::layers::excess_steps::element {1, 0})); // 126 + 126 would saturate in a pair
}

/// Rows of lines that overlap, as the windows of a convolution do, into rows of y that have room between them.
template <typename X>
void expect_lines_exact(
        decltype(make_vector) make, std::int64_t lines, std::int64_t line, std::int64_t rows, std::int64_t columns) {
    const auto inner = lines * line, stride = line / 2 + 1, y_stride = columns + 3;
    std::vector<std::vector<X>> x(static_cast<std::size_t>(lines));
    std::vector<const std::byte *> pointers;
    for (auto &of_line : x) {
        for (std::int64_t i = 0; i < stride * (rows - 1) + line; ++i)
            of_line.push_back(static_cast<X>(i * 37 + std::ssize(pointers) * 101));
        pointers.push_back(reinterpret_cast<const std::byte *>(of_line.data()));
    }
    std::vector<std::int8_t> w;
    for (std::int64_t i = 0; i < inner * columns; ++i)
        w.push_back(static_cast<std::int8_t>(i * i * 3 + i * 7 + i / columns));
    const auto slice = make({std::is_signed_v<X>, 0, inner, columns, lines}, w.data());
    ASSERT_TRUE(slice);
    std::vector<std::int32_t> y(static_cast<std::size_t>(rows * y_stride), 77), expected = y;
    const auto middle = slice->panels() / 2;
    slice->run_rows({pointers.data(), stride, rows}, {0, middle}, y.data(), y_stride);
    slice->run_rows({pointers.data(), stride, rows}, {middle, slice->panels()}, y.data(), y_stride);
    for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t n = 0; n < columns; ++n) {
            std::int64_t sum = 0;
            for (std::int64_t k = 0; k < inner; ++k)
                sum +=
                        std::int64_t {
                                x[static_cast<std::size_t>(k / line)][static_cast<std::size_t>(m * stride + k % line)]}
                        * w[static_cast<std::size_t>(k * columns + n)];
            expected[static_cast<std::size_t>(m * y_stride + n)] = static_cast<std::int32_t>(sum);
        }
    EXPECT_EQ(y, expected) << lines << " lines of " << line << ", " << rows << " rows, " << columns << " columns";
}

TEST(any_rows_slice, rows_of_several_lines) {
    std::vector<decltype(&make_vector)> makers {make_plain};
    if (has_avx2()) makers.insert(makers.end(), {make_vector, make_avx2});
    for (auto *const make : makers)
        for (const std::int64_t lines : {1, 2, 9})
            for (const std::int64_t line : {1, 3, 4, 6, 65})
                for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 11, 12, 13, 26})
                    for (const std::int64_t columns : {1, 16, 17, 33, 49, 80, 130}) {
                        expect_lines_exact<std::uint8_t>(*make, lines, line, rows, columns);
                        expect_lines_exact<std::int8_t>(*make, lines, line, rows, columns);
                    }
}

} // namespace
