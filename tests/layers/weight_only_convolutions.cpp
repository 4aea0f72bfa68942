// Convolutions of floats by narrow weights are what weight_only_layer.hpp defines, bit for bit, by each instruction set
// that this processor has.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "layers/layer/weight_only_layer.hpp"
#include "oracle/layers.hpp"
#include "parallel/executor.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

namespace oracle = test::oracle;

const std::vector<data_type> types {
        data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::f8_e4m3, data_type::f8_e5m2};

std::vector<targets::features> runnable_features() {
    std::vector<targets::features> result;
    for (const auto &[name, needs] : targets::instruction_sets)
        for (const auto &kind : test::runnable(weight_only_table))
            if (name == kind.name) result.push_back(needs);
    return result;
}

struct sample {
    weight_only_description d;
    std::vector<std::byte> data;
    dims x_shape;
    std::vector<float> x;

    sample(data_type type, std::int64_t groups, std::int64_t channels, std::int64_t filters, dims kernel) {
        auto &w = d.weights;
        d.label = "c";
        d.is_convolution = true;
        d.kernel = std::move(kernel);
        d.x_rank = d.kernel.size() + 2;
        d.groups = groups;
        w.type = type;
        w.inner = channels * oracle::product_of(d.kernel);
        w.columns = groups * filters;
        w.is_transposed = true;
        w.block = std::max<std::int64_t>(w.inner, 1);
        w.scale_columns = 1;
        w.scales = {1};
    }

    weight_only_description description() const {
        auto result = d;
        result.weights.data = data.data();
        return result;
    }

    oracle::geometry geometry() const {
        oracle::geometry g;
        const auto rank = d.kernel.size();
        g.images = x_shape[0];
        g.groups = d.groups;
        g.channels = d.weights.inner / oracle::product_of(d.kernel);
        g.filters = d.weights.columns;
        for (std::size_t i = 0; i < rank; ++i) {
            const auto at = oracle::spatial - rank + i;
            g.x[at] = x_shape[2 + i];
            g.kernel[at] = d.kernel[i];
            oracle::set_dimension(d.window, i, rank, g);
        }
        return g;
    }

    /// Convolves by plain loops over all of y and what its windows meet.
    std::vector<float> expected() const {
        const auto g = geometry();
        const auto &w = d.weights;
        const auto factors = oracle::weight_only_factors(w, data);
        std::vector<float> y;
        for (std::int64_t n = 0; n < g.images * g.filters; ++n)
            for (std::int64_t a = 0; a < g.y[0]; ++a)
                for (std::int64_t b = 0; b < g.y[1]; ++b)
                    for (std::int64_t c = 0; c < g.y[2]; ++c) {
                        const auto image = n / g.filters, filter = n % g.filters;
                        const auto window = window_at(g, image, filter / (g.filters / g.groups), {a, b, c});
                        const auto sum =
                                oracle::narrow_sum(w, window.data(), 1, factors.data() + filter * w.inner, filter);
                        y.push_back(behind_post_ops(sum, static_cast<std::size_t>(filter)));
                    }
        return y;
    }

  private:
    float behind_post_ops(float v, std::size_t filter) const {
        for (const auto &s : d.post_ops) {
            const auto a = s.a[s.a.size() == 1 ? 0 : filter];
            if (s.what == post_op_kind::add)
                v = v + a;
            else if (s.what == post_op_kind::clip)
                v = v < a ? a : v > s.b[0] ? s.b[0] : v;
            else if (s.what == post_op_kind::leaky_relu)
                v = v < 0 ? v * a : v;
            else
                ADD_FAILURE() << "a post-op that is not tested";
        }
        return v;
    }

    std::vector<float> window_at(const oracle::geometry &g, std::int64_t image, std::int64_t group,
            const std::array<std::int64_t, 3> &position) const {
        std::vector<float> result;
        for (std::int64_t channel = 0; channel < g.channels; ++channel)
            for (std::int64_t tap = 0; tap < oracle::product_of(d.kernel); ++tap) {
                const std::int64_t taps[] {
                        tap / g.kernel[2] / g.kernel[1], tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
                auto at = (image * g.groups + group) * g.channels + channel;
                bool is_inside = true;
                for (std::size_t i = 0; i < 3; ++i) {
                    const auto in_x = position[i] * g.strides[i] - g.pads[i] + taps[i] * g.dilations[i];
                    is_inside = is_inside && in_x >= 0 && in_x < g.x[i];
                    at = at * g.x[i] + in_x;
                }
                result.push_back(is_inside ? x[static_cast<std::size_t>(at)] : 0);
            }
        return result;
    }
};

std::vector<float> run(const sample &s, targets::features available, weight_only_layer::memory &memory) {
    const weight_only_layer l(s.description(), available);
    const auto count = static_cast<std::size_t>(oracle::product_of(l.y_of(s.x_shape)));
    const std::vector<float> behind(16, 77);
    std::vector<float> y(count + behind.size(), 77);
    l.run({s.x.data(), y.data()}, s.x_shape, memory);
    EXPECT_TRUE(std::equal(behind.begin(), behind.end(), y.begin() + static_cast<std::ptrdiff_t>(count)))
            << "memory behind y is written";
    y.resize(count);
    return y;
}

void expect_equal(const std::vector<float> &y, const std::vector<float> &expected) {
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(std::isnan(expected[i])
                        ? std::isnan(y[i])
                        : std::bit_cast<std::uint32_t>(y[i]) == std::bit_cast<std::uint32_t>(expected[i]))
                << i << ": " << y[i] << " in place of " << expected[i];
}

std::vector<float> test_bias(test::random_source &random, std::int64_t filters) {
    std::vector<float> result;
    for (std::int64_t i = 0; i < filters; ++i)
        result.push_back(random.exponent_within(-3, 3));
    return result;
}

/// of_3x3: a filter of 3 x 3 taps for each channel, mostly of stride 1, whose sums go down the lines.
sample draw(test::random_source &random, bool of_3x3) {
    const auto number = [&](std::int64_t least, std::int64_t most) { return random.within(least, most); };
    const auto rank = of_3x3 ? 2 : number(1, 3);
    dims kernel;
    for (std::int64_t i = 0; i < rank; ++i)
        kernel.push_back(of_3x3 ? 3 : number(1, 4));
    const bool is_depthwise = of_3x3 || random.chance(25);
    sample s(random.one_of(types), is_depthwise ? number(2, 70) : random.one_of<std::int64_t>({1, 1, 2, 5}),
            is_depthwise ? 1 : number(0, 12),
            of_3x3                 ? 1
                    : is_depthwise ? number(1, 2)
                                   : number(1, 40),
            kernel);
    auto &w = s.d.weights;
    auto &window = s.d.window;
    s.x_shape = {number(0, 6) == 0 ? 0 : number(1, 2), s.d.groups * (w.inner / oracle::product_of(kernel))};
    for (std::int64_t i = 0; i < rank; ++i) {
        window.strides.push_back(of_3x3 && random.chance(80) ? 1 : number(1, 3));
        window.dilations.push_back(of_3x3 && random.chance(80) ? 1 : number(1, 3));
    }
    if (random.chance(30))
        window.auto_pad = random.one_of<std::string>({"SAME_UPPER", "SAME_LOWER"});
    else
        for (std::int64_t i = 0; i < 2 * rank; ++i)
            window.pads.push_back(number(0, 4));
    for (std::size_t i = 0; i < kernel.size(); ++i)
        s.x_shape.push_back((kernel[i] - 1) * window.dilations[i]
                + number(1,
                        rank == 1           ? 300
                                : of_3x3    ? 90
                                : rank == 2 ? 20
                                            : 6));
    s.data.resize(test::bytes_for(w.type, w.inner * w.columns));
    for (auto &code : s.data)
        code = static_cast<std::byte>(number(0, 255));
    if (random.chance(60)) {
        w.scale_columns = w.columns;
        w.scales.clear();
        for (std::int64_t i = 0; i < w.columns; ++i)
            w.scales.push_back(random.exponent_within(-8, 3));
    }
    if (random.chance(50))
        s.d.post_ops.push_back({post_op_kind::add, test_bias(random, random.chance(70) ? w.columns : 1)});
    if (random.chance(40)) s.d.post_ops.push_back({post_op_kind::clip, {-0.5F}, {2}});
    if (random.chance(25)) s.d.post_ops.push_back({post_op_kind::leaky_relu, {0.25F}});
    w.are_float16 = random.chance(15);
    const bool has_zero_points = w.type != data_type::f8_e4m3 && w.type != data_type::f8_e5m2 && random.chance(50);
    const bool is_signed = w.type == data_type::s8 || w.type == data_type::s4;
    const std::int64_t count = w.type == data_type::s4 || w.type == data_type::u4 ? 16 : 256,
                       least = is_signed ? -count / 2 : 0;
    for (std::size_t i = 0; has_zero_points && i < w.scales.size(); ++i)
        w.zero_points.push_back(static_cast<std::int32_t>(number(least, least + count - 1)));
    s.x.resize(static_cast<std::size_t>(oracle::product_of(s.x_shape)));
    for (auto &value : s.x)
        value = random.exponent_within(-8, 3);
    return s;
}

TEST(weight_only_convolutions, are_what_the_definition_says) {
    weight_only_layer::memory memory;
    std::array<int, 2> kinds {};
    for (std::uint64_t i = 0; i < 260; ++i) {
        SCOPED_TRACE(i);
        test::random_source random(i);
        const auto s = draw(random, i >= 220);
        const auto expected = s.expected();
        const auto g = s.geometry();
        ++kinds[g.groups == 1 && g.filters >= 32 && oracle::product_of({g.y[0], g.y[1], g.y[2]}) <= 64];
        for (const auto available : runnable_features())
            for (const int threads : {1, 3, 8}) {
                const parallel::executor small_parts {threads == 1 ? [] { return 1; }
                                : threads == 3                     ? [] { return 3; }
                                                                   : [] { return 8; },
                        parallel::tbb_executor.run, 16};
                const parallel::scoped_executor executor(small_parts);
                expect_equal(run(s, available, memory), expected);
                if (HasFatalFailure()) return;
            }
    }
    // Positions in vectors, and rows of few positions, as weight_only_layer.cpp decides.
    EXPECT_GE(kinds[0], 20);
    EXPECT_GE(kinds[1], 5);
}

/// Two filters over three elements, padded by one: sums by hand, with a bias.
TEST(weight_only_convolutions, by_hand) {
    sample s(data_type::s8, 1, 1, 2, {3});
    s.d.window.pads = {1, 1};
    s.d.weights.scale_columns = 2;
    s.d.weights.scales = {2, 0.5F};
    s.d.post_ops.push_back({post_op_kind::add, {100, 0}});
    for (const int w : {1, 2, 3, -1, 0, 1})
        s.data.push_back(static_cast<std::byte>(w));
    s.x_shape = {1, 1, 3};
    s.x = {1, 10, 100};
    weight_only_layer::memory memory;
    for (const auto available : runnable_features())
        EXPECT_EQ(run(s, available, memory), (std::vector<float> {164, 742, 520, 5, 49.5F, -5}));
}

/// Depthwise planes of 30 x 30, of which a part copies fewer at once than a panel has, in two images. Taps of 1 count
/// the ones that are not padding.
TEST(weight_only_convolutions, of_slices_by_hand) {
    constexpr std::int64_t channels = 70, extent = 30, images = 2;
    sample s(data_type::s8, channels, 1, 1, {3, 3});
    s.d.window.pads = {1, 1, 1, 1};
    s.d.post_ops.push_back({post_op_kind::add, {-4.5F}});
    s.d.post_ops.push_back({post_op_kind::clip, {0}, {3}});
    s.data.assign(channels * 9, std::byte {1});
    s.x_shape = {images, channels, extent, extent};
    s.x.assign(images * channels * extent * extent, 1);
    const auto is_at_end = [](std::int64_t i) { return i == 0 || i == extent - 1; };
    std::vector<float> expected; // corners have 4 ones, edges 6, others 9
    for (std::int64_t i = 0; i < images * channels * extent * extent; ++i) {
        const auto line = i / extent % extent, column = i % extent;
        expected.push_back(is_at_end(line) && is_at_end(column) ? 0 : is_at_end(line) || is_at_end(column) ? 1.5F : 3);
    }
    weight_only_layer::memory memory;
    for (const auto available : runnable_features())
        expect_equal(run(s, available, memory), expected);
}

/// Windows begin at every second element of a line and take two, three apart. Behind a padding of two, a line has three
/// even and four odd places in x; what is copied to one of too many lies in the padding of the next line.
TEST(weight_only_convolutions, of_more_odd_places_by_hand) {
    sample s(data_type::s8, 1, 1, 1, {2, 2});
    s.d.window.strides = {1, 2};
    s.d.window.dilations = {1, 3};
    s.d.window.pads = {0, 2, 0, 0};
    s.data = {std::byte {1}, std::byte {10}, std::byte {20}, std::byte {100}};
    s.x_shape = {1, 1, 3, 7};
    s.x.resize(21);
    std::iota(s.x.begin(), s.x.end(), 1.0F);
    weight_only_layer::memory memory;
    // 10*2 + 100*9, 1 + 10*4 + 20*8 + 100*11, 3 + 10*6 + 20*10 + 100*13; 10*9 + 100*16, ...
    for (const auto available : runnable_features())
        EXPECT_EQ(run(s, available, memory), (std::vector<float> {920, 1301, 1563, 1690, 2218, 2480}));
}

/// Sums of more taps than pass at once, at positions that end a vector before a tile does.
TEST(weight_only_convolutions, of_many_taps_by_hand) {
    constexpr std::int64_t channels = 3, taps = 1500;
    weight_only_layer::memory memory;
    for (const std::int64_t positions : {24, 48, 56, 112}) {
        sample s(data_type::s8, channels, 1, 1, {taps});
        s.data.assign(channels * taps, std::byte {1});
        s.x_shape = {1, channels, taps - 1 + positions};
        std::vector<float> expected;
        for (std::int64_t c = 1; c <= channels; ++c) {
            s.x.insert(s.x.end(), static_cast<std::size_t>(s.x_shape[2]), static_cast<float>(c));
            expected.insert(expected.end(), static_cast<std::size_t>(positions), static_cast<float>(c * taps));
        }
        for (const auto available : runnable_features())
            expect_equal(run(s, available, memory), expected);
    }
}

/// x of 0 in the padding, by a weight that is infinite.
TEST(weight_only_convolutions, padding_is_multiplied) {
    sample s(data_type::f8_e5m2, 1, 1, 1, {2});
    s.d.window.pads = {1, 0};
    s.data = {std::byte {0x7c}, std::byte {0x3c}}; // infinity, 1
    s.x_shape = {1, 1, 2};
    s.x = {1, 2};
    weight_only_layer::memory memory;
    for (const auto available : runnable_features()) {
        const auto y = run(s, available, memory);
        EXPECT_TRUE(std::isnan(y[0]));
        EXPECT_EQ(y[1], std::numeric_limits<float>::infinity());
    }
}

/// Rows of columns that do not fill a tile of the epilogue, with parameters for each column: several rows pass as one.
/// All are integers.
TEST(weight_only_convolutions, of_one_tap_without_planes_by_hand) {
    weight_only_layer::memory memory;
    for (const std::int64_t columns : {1, 11, 30, 48, 63, 64})
        for (const std::int64_t rows : {1, 31, 63, 64, 65, 131}) {
            sample s(data_type::s8, 1, 1, columns, {});
            s.d.is_convolution = false;
            std::vector<float> bias, tensor, expected;
            for (int c = 0; c < columns; ++c) {
                s.data.push_back(static_cast<std::byte>(c + 1));
                bias.push_back(static_cast<float>(-10 * c));
            }
            s.d.post_ops = {{post_op_kind::add, bias}, {post_op_kind::add_tensor}, {post_op_kind::clip, {0}, {1000}}};
            s.x_shape = {rows, 1};
            for (std::int64_t r = 0; r < rows; ++r) {
                s.x.push_back(static_cast<float>(r));
                for (std::int64_t c = 0; c < columns; ++c) {
                    tensor.push_back(static_cast<float>((r * columns + c) % 7));
                    const auto y = r * (c + 1) - 10 * c + (r * columns + c) % 7;
                    expected.push_back(static_cast<float>(std::clamp<std::int64_t>(y, 0, 1000)));
                }
            }
            for (const auto available : runnable_features()) {
                std::vector<float> y(expected.size());
                weight_only_layer(s.description(), available)
                        .run({s.x.data(), y.data(), {}, {}, tensor.data()}, s.x_shape, memory);
                EXPECT_EQ(y, expected) << rows << " rows, " << columns << " columns";
            }
        }
}

std::string refusal(const sample &s) {
    try {
        const weight_only_layer l(s.description(), {});
        l.y_of(s.x_shape);
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

TEST(weight_only_convolutions, say_what_does_not_fit) {
    sample s(data_type::s8, 2, 3, 2, {3, 3});
    s.data.resize(4 * 27);
    s.x_shape = {1, 6, 5, 4};
    EXPECT_EQ(refusal(s), "");
    const auto with = [&](auto change) {
        auto changed = s;
        change(changed);
        return refusal(changed);
    };
    EXPECT_EQ(with([](sample &c) { c.x_shape = {1, 6, 5}; }), "c: X: expected rank 4, given shape 1x6x5");
    EXPECT_EQ(with([](sample &c) { c.x_shape[1] = 3; }), "c: X: expected 6 channels, given shape 1x3x5x4");
    EXPECT_EQ(with([](sample &c) { c.x_shape[2] = 2; }),
            "c: expected a window no larger than the padded tensor, given one of 3x3 over 2x4");
    EXPECT_EQ(with([](sample &c) { c.d.window.strides = {1}; }), "c: attribute 'strides': expected 2 values, given 1");
    EXPECT_EQ(with([](sample &c) {
        c.d.window.kernel_shape = {3, 2};
    }),
            "c: attribute 'kernel_shape': expected 3x3, as in the weights' shape, given 3x2");
    EXPECT_EQ(with([](sample &c) { c.d.groups = 3; }),
            "c: attribute 'group': expected a divisor of the 4 filters, given 3");
    EXPECT_EQ(with([](sample &c) { c.d.groups = 0; }),
            "c: attribute 'group': expected a divisor of the 4 filters, given 0");
    EXPECT_EQ(with([](sample &c) { c.d.kernel = {3, 0}; }), "c: W: expected a window of at least one tap, given 3x0");
    EXPECT_EQ(with([](sample &c) {
        c.d.window.pads = dims(4, 1 << 30);
        c.x_shape = {1, 6, 5, 1 << 20};
    }),
            "c: Y: expected fewer than 2^44 elements, given shape 1x4x2147483651x2148532222");
}

} // namespace
} // namespace dynquant::layers
