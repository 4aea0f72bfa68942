// Each implementation of the integer convolution has the sums of the definition.
#include <array>
#include <cstring>
#include <mutex>

#include <gtest/gtest.h>

#include "emulated.hpp"
#include "layers/conv/channels_first/channels_first.hpp"
#include "layers/conv/cost.hpp"
#include "layers/conv/depthwise/depthwise.hpp"
#include "layers/layer/layer.hpp"
#include "oracle/layers.hpp"
#include "parallel/executor.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

using sums = std::vector<std::int32_t>;

/// A convolution, all channels last but w: filters, channels of a group, kernel.
struct sample {
    integer_convolution p {.available = environment::usable_features()};
    window_attributes given;                 // of p.window
    std::vector<std::int32_t> x_zero_points; // one, or one for each image
    std::vector<std::byte> w, x;             // w: s8

    constant_weights weights() const {
        return constant_weights::of_filters(w.data(), p.channels / p.groups, *volume(p.window.kernel));
    }

    /// Sums of (x - x_zero_point) (w - w_zero_point), modulo 2^32.
    sums expected() const {
        layer_description d;
        d.is_convolution = d.x_is_channels_last = d.y_is_channels_last = true;
        d.x_is_signed = p.x_is_signed;
        d.x_zero_point.reset();
        d.weights_shape = {p.filters, p.channels / p.groups};
        d.weights_shape.insert(d.weights_shape.end(), p.window.kernel.begin(), p.window.kernel.end());
        d.w_zero_points = p.w_zero_points;
        d.groups = p.groups;
        d.window = given;
        dims x_shape {p.batch, p.channels};
        x_shape.insert(x_shape.end(), p.window.x.begin(), p.window.x.end());
        const auto y = test::oracle::result_of(
                test::oracle::layer_inputs<layer_description> {d, x_shape, x, w, x_zero_points, {}, {}});
        sums result(y.size() / sizeof(std::int32_t));
        if (!y.empty()) std::memcpy(result.data(), y.data(), y.size());
        return result;
    }
};

struct extents {
    std::int64_t batch, groups, channels, filters;
};

/// x and w of zeros, and no zero points.
sample sample_of(const extents &e, const dims &x, const dims &kernel, const window_attributes &given = {}) {
    sample s;
    s.given = given;
    s.p.window = make_window(given, x, kernel);
    s.p.batch = e.batch;
    s.p.groups = e.groups;
    s.p.channels = e.channels;
    s.p.filters = e.filters;
    s.w.resize(static_cast<std::size_t>(e.filters * (e.channels / e.groups) * *volume(kernel)));
    s.x.resize(static_cast<std::size_t>(e.batch * *volume(x) * e.channels));
    return s;
}

enum class grouping { none, some, depthwise };

sample draw(test::random_source &random, grouping groups) {
    const auto rank = random.within(1, 3);
    dims x, kernel;
    window_attributes given;
    for (std::int64_t d = 0; d < rank; ++d) {
        kernel.push_back(random.within(1, 4));
        given.strides.push_back(random.within(1, 3));
        given.dilations.push_back(random.within(1, 2));
        x.push_back((kernel.back() - 1) * given.dilations.back() + random.within(1, d == rank - 1 ? 40 : 9));
    }
    for (std::int64_t d = 0; d < 2 * rank; ++d)
        given.pads.push_back(random.within(0, 3));
    const bool is_signed = random.chance(50);
    extents e {random.within(1, 3), 1, 1, 1};
    if (groups != grouping::none) e.groups = random.within(2, groups == grouping::some ? 3 : 150);
    e.channels = e.groups * (groups == grouping::depthwise ? 1 : random.within(1, 20));
    e.filters = e.groups * (groups == grouping::depthwise ? 1 : random.within(1, 40));
    auto s = sample_of(e, x, kernel, given);
    auto &p = s.p;
    p.x_is_signed = is_signed;
    for (auto n = random.chance(50) ? p.batch : 1; n > 0; --n)
        s.x_zero_points.push_back(
                static_cast<std::int32_t>(p.x_is_signed ? random.within(-128, 127) : random.within(0, 255)));
    for (auto n = random.one_of<std::int64_t>({0, 1, p.filters}); n > 0; --n)
        p.w_zero_points.push_back(static_cast<std::int32_t>(random.within(-128, 127)));
    s.w = random.bytes(std::ssize(s.w));
    s.x = random.bytes(std::ssize(s.x));
    return s;
}

/// x channels first.
std::vector<std::byte> planar(const sample &s) {
    const auto positions = *volume(s.p.window.x), channels = s.p.channels;
    std::vector<std::byte> result;
    for (std::int64_t image = 0; image < s.p.batch; ++image)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t at = 0; at < positions; ++at)
                result.push_back(s.x[static_cast<std::size_t>((image * positions + at) * channels + c)]);
    return result;
}

/// What the parts of a run keep.
std::size_t bytes_of_run(const accumulator_source &convolution, const sample &s) {
    const auto x = convolution.takes_channels_first() ? planar(s) : s.x;
    workspace memory;
    convolution.for_each_block(x.data(), s.x_zero_points, memory, [](const accumulator_block &) {});
    std::size_t bytes = 0;
    for (const auto &part : memory.parts)
        bytes += part.rows.size() + part.padding.size() + sizeof(std::int32_t) * part.sums.size()
                + sizeof(std::byte *) * (part.lines.size() + part.tap_addresses.size() + part.taps.size());
    return bytes;
}

sums for_each_block(const accumulator_source &convolution, const sample &s) {
    const auto rows = s.p.batch * *volume(s.p.window.y), filters = s.p.filters;
    sums y(static_cast<std::size_t>(rows * filters), 77);
    const auto x = convolution.takes_channels_first() ? planar(s) : s.x;
    std::mutex mutex;
    std::int64_t given = 0;
    workspace memory;
    convolution.for_each_block(x.data(), s.x_zero_points, memory, [&](const accumulator_block &block) {
        const std::lock_guard lock(mutex);
        const auto count = block.positions.end - block.positions.begin;
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t c = 0; c < block.channels; ++c)
                y[static_cast<std::size_t>((block.positions.begin + i) * filters + block.first_channel + c)] =
                        block.sums[block.plane == 0 ? i * block.channels + c : c * block.plane + i];
        given += count * block.channels;
    });
    EXPECT_EQ(given, rows * filters);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const auto filter = i % static_cast<std::size_t>(filters);
        const auto image = static_cast<std::int64_t>(i) / (filters * *volume(s.p.window.y));
        y[i] -= zero_point_of(s.x_zero_points, image) * convolution.weight_sums()[filter];
    }
    return y;
}

/// Some parts where a process would compute all on one thread.
const parallel::executor small_parts = {parallel::tbb_executor.concurrency, parallel::tbb_executor.run, 256};

void expect_exact(const accumulator_source &convolution, const sample &s) {
    const auto expected = s.expected();
    EXPECT_EQ(std::ssize(convolution.weight_sums()), s.p.filters);
    EXPECT_EQ(for_each_block(convolution, s), expected);
    const parallel::scoped_executor executor(small_parts);
    EXPECT_EQ(for_each_block(convolution, s), expected);
}

TEST(convolutions, im2col_has_the_sums_of_the_definition) {
    test::random_source random(1);
    for (int i = 0; i < 60; ++i)
        for (const auto groups : {grouping::none, grouping::some, grouping::depthwise}) {
            const auto s = draw(random, groups);
            SCOPED_TRACE(i);
            expect_exact(*pack_im2col_convolution(s.p, s.weights())(s.p), s);
        }
}

/// By each instruction set, those of few machines by emulation.
std::vector<test::tested<const channels_first_loop *>> channels_first_loops() {
    auto kinds = test::runnable(channels_first_table);
    if (targets::has(targets::of_processor(), targets::avx2))
        kinds.push_back({"emulated_avx2_vnni", &emulated_avx2_vnni_channels_first});
    return kinds;
}

TEST(convolutions, channels_first_has_the_sums_of_the_definition) {
    test::random_source random(7);
    for (int i = 0; i < 60; ++i)
        for (const auto groups : {grouping::none, grouping::some, grouping::depthwise}) {
            auto s = draw(random, groups);
            SCOPED_TRACE(i);
            for (const auto &kind : channels_first_loops()) {
                SCOPED_TRACE(kind.name);
                expect_exact(*pack_channels_first_convolution(s.p, *kind.code, s.weights())(s.p), s);
            }
        }
}

/// Lines that a task joins, and lines that tasks cut.
TEST(convolutions, channels_first_of_short_and_long_lines) {
    struct {
        dims x, kernel;
        window_attributes given;
    } const cases[] = {
            {{37, 5}, {3, 3}, {.pads = {1, 1, 1, 1}}},
            {{37, 13}, {3, 3}, {.pads = {2, 0, 0, 1}}},
            {{90, 2}, {5, 1}, {}},
            {{2500, 13}, {3, 3}, {.pads = {1, 1, 1, 1}}}, // several tasks
            {{70, 9}, {1, 1}, {.pads = {0, 1, 0, 2}}},
            {{41, 11}, {2, 3}, {.dilations = {9, 2}, .pads = {4, 2, 4, 2}}},
            {{3, 19, 7}, {3, 3, 3}, {.pads = {1, 1, 1, 1, 1, 1}}},
            {{5, 9, 30}, {2, 3, 3}, {.dilations = {2, 1, 1}, .pads = {1, 1, 1, 0, 2, 1}, .strides = {2, 2, 1}}},
            {{6001}, {3}, {.pads = {1, 1}}},
            {{13001}, {5}, {.dilations = {3}, .pads = {0, 700}, .strides = {2}}},
            {{6000}, {1}, {}},
            {{2, 18001}, {2, 3}, {.pads = {1, 2, 0, 2}, .strides = {1, 3}}},
    };
    test::random_source random(9);
    for (const auto &[x, kernel, given] : cases)
        for (const bool is_signed : {false, true})
            for (const auto &[groups, channels, filters] : {std::array<std::int64_t, 3> {1, 1, 9}, {2, 10, 6}}) {
                auto s = sample_of({2, groups, channels, filters}, x, kernel, given);
                SCOPED_TRACE(testing::Message() << testing::PrintToString(x) << is_signed << groups);
                s.p.x_is_signed = is_signed;
                s.p.w_zero_points = {3};
                s.x_zero_points = {7, 100};
                s.w = random.bytes(std::ssize(s.w));
                s.x = random.bytes(std::ssize(s.x));
                for (const auto &kind : channels_first_loops())
                    expect_exact(*pack_channels_first_convolution(s.p, *kind.code, s.weights())(s.p), s);
            }
}

TEST(convolutions, the_cheapest_algorithm_computes_them) {
    if (!targets::has(environment::usable_features(), targets::avx2)
            && !targets::has(environment::usable_features(), targets::neon))
        GTEST_SKIP() << "scalar loops have other costs";
    const auto cheaper = [](dims x, dims kernel, std::int64_t channels, std::int64_t filters, std::int64_t groups = 1,
                                 window_attributes given = {}) {
        auto s = sample_of({1, groups, channels, filters}, x, kernel, given);
        s.p.is_channels_first = true;
        const auto is_channels_first = pack_convolution(s.p, s.weights())(s.p)->takes_channels_first();
        const auto other = groups > 1 && groups == channels ? algorithm::depthwise : algorithm::im2col;
        return is_channels_first ? algorithm::channels_first : other;
    };
    using enum algorithm;
    EXPECT_EQ(cheaper({58, 58}, {3, 3}, 3, 64), channels_first);
    EXPECT_EQ(cheaper({400, 13}, {3, 3}, 1, 4), channels_first);
    EXPECT_EQ(cheaper({8, 28, 28}, {3, 3, 3}, 1, 8), channels_first);
    EXPECT_EQ(cheaper({160000}, {3}, 1, 4), channels_first);
    EXPECT_EQ(cheaper({64, 64}, {5, 5}, 1, 8, 1, {.dilations = {8, 8}}), channels_first);
    EXPECT_EQ(cheaper({4, 4}, {3, 3}, 512, 24), im2col);
    EXPECT_EQ(cheaper({56, 56}, {3, 3}, 64, 64), im2col);
    EXPECT_EQ(cheaper({40, 40}, {3, 3}, 96, 96, 96), depthwise);
    // Cells of what lies between the taps, and lines with their padding, would take memory out of proportion.
    EXPECT_EQ(cheaper({1 << 20}, {2}, 1, 1, 1, {.dilations = {(1 << 20) - 24}}), im2col);
    EXPECT_EQ(cheaper({24}, {3}, 1, 1, 1, {.pads = {max_extent, max_extent}, .strides = {max_extent / 8}}), im2col);
}

TEST(convolutions, channels_first_of_the_largest_weights) {
    test::random_source random(8);
    for (const std::int32_t zero_point : {-128, 127})
        for (const auto value : {-128, 127}) {
            auto s = draw(random, grouping::none);
            std::ranges::fill(s.w, static_cast<std::byte>(value));
            s.p.w_zero_points = {zero_point};
            s.x_zero_points = {100};
            for (const bool is_signed : {false, true})
                for (const auto &kind : channels_first_loops()) {
                    s.p.x_is_signed = is_signed;
                    std::ranges::fill(s.x, static_cast<std::byte>(is_signed ? 0x80 : 0xff));
                    expect_exact(*pack_channels_first_convolution(s.p, *kind.code, s.weights())(s.p), s);
                }
        }
}

TEST(convolutions, channels_first_are_those_of_few_channels_or_filters_in_a_group) {
    const auto is_channels_first = [](std::int64_t groups, std::int64_t channels, std::int64_t filters,
                                           dims kernel = {3, 3}, bool may_be = true) {
        integer_convolution p;
        p.is_channels_first = may_be;
        p.groups = groups;
        p.channels = groups * channels;
        p.filters = groups * filters;
        p.window.kernel = kernel;
        const std::vector<std::int8_t> w(static_cast<std::size_t>(p.filters * channels * *volume(kernel)));
        const auto weights = constant_weights::of_filters(w.data(), channels, *volume(kernel));
        return pack_channels_first_convolution(p, weights) != nullptr;
    };
    EXPECT_TRUE(is_channels_first(1, 3, 64));
    EXPECT_TRUE(is_channels_first(1, 64, 2));
    EXPECT_TRUE(is_channels_first(8, 4, 4));
    EXPECT_TRUE(is_channels_first(1, 24, 72));
    EXPECT_FALSE(is_channels_first(1, 32, 32));
    EXPECT_FALSE(is_channels_first(8, 32, 32));
    EXPECT_TRUE(is_channels_first(1, 128, 512, {1, 1})); // of one tap
    EXPECT_FALSE(is_channels_first(1, 256, 256, {1, 1}));
    EXPECT_TRUE(is_channels_first(3, 1, 1)); // too few for vectors of channels
    EXPECT_FALSE(is_channels_first(64, 1, 1));
    EXPECT_FALSE(is_channels_first(1, 64, 64));
    EXPECT_FALSE(is_channels_first(1, 3, 64, {3, 3}, false));
    EXPECT_TRUE(is_channels_first(1, 3, 64, {3, 3, 3}));
}

/// Attributes may be as large as make_window() allows, in a file of a few bytes: whichever way is taken has the sums of
/// the definition, and no memory in proportion.
TEST(convolutions, of_the_largest_attributes) {
    constexpr auto most = max_extent;
    struct {
        dims x, kernel;
        window_attributes given;
    } const cases[] = {
            {{24}, {3}, {.auto_pad = "SAME_LOWER", .dilations = {most}}},
            {{24}, {3}, {.auto_pad = "SAME_UPPER", .dilations = {1 << 20}}},
            {{24}, {1}, {.dilations = {most}, .pads = {1, 1}}}, // between no taps
            {{24}, {3}, {.dilations = {1 << 26}, .pads = {most, most}, .strides = {1 << 27}}},
            {{24}, {3}, {.pads = {most, most}, .strides = {most / 8}}}, // 17 columns
            {{24}, {2}, {.dilations = {most}, .pads = {most, 0}, .strides = {1}}},
            {{5, 24}, {2, 3}, {.auto_pad = "SAME_LOWER", .dilations = {1, most}}},
            {{5, 24}, {2, 3}, {.auto_pad = "SAME_UPPER", .dilations = {most, 1}}},
            {{5, 24}, {1, 1}, {.dilations = {most, most}, .pads = {1, 1, 1, 1}}},
            {{5, 24}, {3, 3}, {.pads = {1, most / 2, 1, most / 2}, .strides = {1, most / 16}}},
            {{5, 24}, {3, 3}, {.pads = {4096, 1, 4096, 1}, .strides = {400, 1}}},
            {{2, 3, 24}, {2, 2, 3}, {.auto_pad = "SAME_LOWER", .dilations = {1, most, most}}},
            {{2, 3, 24}, {1, 1, 3}, {.pads = {0, 0, most / 2, 0, 0, most / 2}, .strides = {1, 1, most / 16}}},
    };
    for (const auto &[x, kernel, given] : cases)
        for (const auto [groups, channels, filters] :
                {std::array<std::int64_t, 3> {1, 8, 14}, {2, 4, 2}, {40, 40, 40}, {1, 40, 40}}) { // 40: depthwise
            auto s = sample_of({2, groups, channels, filters}, x, kernel, given);
            SCOPED_TRACE(testing::Message()
                    << testing::PrintToString(x) << ", y " << testing::PrintToString(s.p.window.y) << ", " << groups
                    << " groups, " << channels << " channels");
            s.p.is_channels_first = true;
            s.x_zero_points = {7, 9};
            std::int32_t next = 1;
            for (auto &weight : s.w)
                weight = static_cast<std::byte>(next += 5);
            for (auto &byte : s.x)
                byte = static_cast<std::byte>(next += 7);
            const auto convolution = pack_convolution(s.p, s.weights())(s.p);
            expect_exact(*convolution, s);
            EXPECT_LT(bytes_of_run(*convolution, s), 1 << 20);
        }
}

/// Each tap begins at a place of its own below the stride. To look each up among the others would take minutes.
TEST(convolutions, channels_first_packs_many_taps_of_a_large_stride) {
    sample s;
    s.p.is_channels_first = true;
    s.p.channels = s.p.filters = 1;
    s.p.window.kernel = {1 << 20};
    s.p.window.strides = {max_extent - 1};
    s.w.assign(1 << 20, std::byte {3});
    EXPECT_NE(pack_channels_first_convolution(s.p, s.weights()), nullptr);
}

TEST(convolutions, of_one_tap_are_products) {
    test::random_source random(5);
    for (const std::int64_t rows : {1, 2, 5, 9, 40})
        for (const std::int64_t channels : {1, 17, 64})
            for (const std::int64_t filters : {1, 16, 100, 300})
                for (const std::int64_t zero_points : {std::int64_t {0}, filters}) {
                    auto s = sample_of({1, 1, channels, filters}, {rows}, {1});
                    s.x_zero_points = {static_cast<std::int32_t>(random.within(0, 255))};
                    for (std::int64_t f = 0; f < zero_points; ++f)
                        s.p.w_zero_points.push_back(static_cast<std::int32_t>(random.within(-128, 127)));
                    s.w = random.bytes(std::ssize(s.w));
                    s.x = random.bytes(std::ssize(s.x));
                    expect_exact(*pack_convolution(s.p, s.weights())(s.p), s);
                }
}

TEST(convolutions, without_images_or_channels) {
    for (const auto &e : {extents {0, 1, 0, 3}, {2, 1, 0, 3}, {0, 3, 3, 3}, {2, 3, 3, 3}}) { // 0: sums of nothing
        auto s = sample_of(e, {6}, {3}, {.pads = {1, 1}});
        s.x_zero_points = {7};
        std::ranges::fill(s.w, std::byte {2});
        expect_exact(*pack_convolution(s.p, s.weights())(s.p), s);
    }
}

/// By each instruction set, one of few machines by emulation.
std::vector<test::tested<depthwise_function>> quads_functions() {
    auto functions = test::runnable_functions(quads_table);
    if (targets::has(targets::of_processor(), targets::avx2))
        functions.push_back({"emulated_avx2_vnni", emulated_avx2_vnni_quads});
    return functions;
}

TEST(convolutions, depthwise_has_the_sums_of_the_definition) {
    test::random_source random(2);
    for (int i = 0; i < 150; ++i) {
        const auto s = draw(random, grouping::depthwise);
        SCOPED_TRACE(i);
        expect_exact(*pack_depthwise_convolution(s.p, s.weights())(s.p), s);
        if (s.p.x_is_signed || s.p.channels < min_quad_channels) continue;
        for (const auto &by : quads_functions()) {
            SCOPED_TRACE(by.name);
            expect_exact(*pack_depthwise_convolution(s.p, by.code, s.weights())(s.p), s);
        }
    }
}

TEST(convolutions, of_padding_alone) {
    for (const std::int64_t groups : {1, 2, 20}) { // 20: depthwise
        auto s = sample_of({1, groups, 20, 20}, {1, 0}, {1, 3}, {.pads = {1, 2, 1, 2}});
        s.x_zero_points = {7};
        std::ranges::fill(s.w, std::byte {3});
        expect_exact(*pack_convolution(s.p, s.weights())(s.p), s);
    }
}

TEST(convolutions, depthwise_is_left_where_a_group_has_several_channels_or_filters) {
    test::random_source random(3);
    for (const auto groups : {grouping::none, grouping::some}) {
        auto s = draw(random, groups);
        s.p.channels = s.p.filters = 2 * s.p.groups;
        EXPECT_FALSE(pack_depthwise_convolution(s.p, s.weights()));
    }
}

/// Sums of lines of channels by weight_at(tap, channel). Each position begins a line behind the one before.
template <typename Weight>
sums depthwise_sums(const std::vector<std::byte> &x, bool is_signed, std::int64_t positions, std::int64_t taps,
        std::int64_t channels, const Weight &weight_at) {
    sums result;
    for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t c = 0; c < channels; ++c) {
            std::int32_t sum = 0;
            for (std::int64_t t = 0; t < taps; ++t) {
                const auto value = x[static_cast<std::size_t>((t + p) * channels + c)];
                sum += (is_signed ? std::to_integer<std::int8_t>(value) : std::to_integer<std::uint8_t>(value))
                        * weight_at(t, c);
            }
            result.push_back(sum);
        }
    return result;
}

TEST(convolutions, depthwise_by_every_instruction_set) {
    const auto functions = test::runnable_functions(pairs_table);
    test::random_source random(4);
    const auto weight = [&] { return static_cast<std::int32_t>(random.within(-255, 255)); };
    for (const bool is_signed : {false, true})
        for (std::int64_t channels = 1; channels < 70; ++channels) {
            const std::int64_t taps = 4, positions = 3, padded = (channels + 15) / 16 * 16;
            const auto x = random.bytes((taps + positions) * channels);
            std::vector<std::int16_t> w(static_cast<std::size_t>(taps * padded));
            for (auto &value : w)
                value = static_cast<std::int16_t>(weight());
            std::vector<const std::byte *> at;
            for (std::int64_t t = 0; t < taps; ++t)
                at.push_back(x.data() + t * channels);
            sums start(static_cast<std::size_t>(padded));
            for (auto &value : start)
                value = 1000 * weight();
            const auto expected = depthwise_sums(x, is_signed, positions, taps, channels,
                    [&](auto t, auto c) { return w[static_cast<std::size_t>((t / 2 * padded + c) * 2 + t % 2)]; });
            for (const auto &by : functions) {
                sums y(expected.size()), more = expected;
                by.code({at.data(), taps, positions, channels, w.data(), channels, padded, is_signed, nullptr,
                        y.data()});
                EXPECT_EQ(y, expected) << by.name << ", " << channels << " channels";
                for (std::size_t i = 0; i < more.size(); ++i)
                    more[i] += start[i % static_cast<std::size_t>(channels)];
                by.code({at.data(), taps, positions, channels, w.data(), channels, padded, is_signed, start.data(),
                        y.data()});
                EXPECT_EQ(y, more) << by.name << ", " << channels << " channels, from other sums on";
            }
        }
}

TEST(convolutions, depthwise_quads_of_every_weight) {
    test::random_source random(6);
    for (const std::int32_t zero_point : {0, 1, -128, 127})
        for (const std::int64_t channels : {32, 33, 63, 64, 65, 80, 128, 200})
            for (const std::int64_t taps : {1, 3, 4, 9}) {
                integer_convolution p;
                p.groups = p.channels = p.filters = channels;
                p.window = make_window({}, {taps + 4}, {taps});
                p.w_zero_points = {zero_point};
                const std::int64_t positions = 5;
                const auto x = random.bytes((taps + positions - 1) * channels);
                auto w = random.bytes(taps * channels);
                w.front() = static_cast<std::byte>(zero_point < 0 ? 127 : -128); // less it: the largest magnitudes
                const auto quads = depthwise_quads(p, constant_weights::of_filters(w.data(), 1, taps));
                std::vector<const std::byte *> at;
                for (const auto t : quads.taps)
                    at.push_back(x.data() + static_cast<std::int64_t>(t) * channels);
                const auto expected =
                        depthwise_sums(x, false, positions, taps, channels, [&](std::int64_t t, std::int64_t c) {
                            return std::to_integer<std::int8_t>(w[static_cast<std::size_t>(c * taps + t)]) - zero_point;
                        });
                for (const auto &by : quads_functions()) {
                    sums y(expected.size() + 1, 77);
                    by.code({at.data(), std::ssize(at), positions, channels, quads.weights.data(), channels,
                            (channels + 31) / 32 * 32, false, nullptr, y.data()});
                    EXPECT_EQ(y.back(), 77) << "written beyond the end";
                    y.pop_back();
                    EXPECT_EQ(y, expected) << by.name << ", " << channels << " channels, " << taps
                                           << " taps, zero point " << zero_point;
                }
            }
}

} // namespace
} // namespace dynquant::layers
