// Runs give the values worked out by hand, are exact where oneDNN alone is not, and may go on many threads at once.
#include <thread>

#include <gtest/gtest.h>

#include "model_support.hpp"

namespace dynquant::models {
namespace {

template <typename Y, typename X>
std::vector<Y> run(const graph &g, const std::vector<X> &x, std::size_t count, const model_options &options = {}) {
    const auto m = model::parse(write(g), "m.onnx", options);
    std::vector<Y> y(count);
    m.run({x.data()}, {y.data()});
    return y;
}

TEST(model_run, a_product_by_hand) {
    const std::vector<std::uint8_t> x {1, 2, 3, 255, 0, 255};
    // 1 + 6 - 384, -2 + 8 + 381; 255 - 32640, -510 + 32385
    EXPECT_EQ(run<std::int32_t>(product_graph(), x, 4), (std::vector<std::int32_t> {-377, 387, -32385, 31875}));
}

TEST(model_run, describes_itself) {
    const auto m = model::parse(write(product_graph()), "m.onnx");
    ASSERT_EQ(m.stages().size(), 1U);
    const auto &s = m.stages().front();
    EXPECT_EQ(s.name, "fc");
    EXPECT_EQ(s.pattern, "MatMulInteger");
    EXPECT_EQ(s.nodes, std::vector<std::string> {"node 'fc' (MatMulInteger)"});
    ASSERT_EQ(s.inputs.size(), 1U);
    EXPECT_EQ(s.inputs.front().name, "x");
    EXPECT_EQ(s.outputs.front().shape, (dims {2, 2}));
    EXPECT_EQ(m.inputs().front().type, uint8);
}

TEST(model_run, zero_points_by_hand) {
    auto g = product_graph();
    g.nodes.front().inputs = {"x", "w", "zx", "zw"};
    g.initializers["zx"] = tensor_of<std::uint8_t>(uint8, {}, {2});
    g.initializers["zw"] = tensor_of<std::int8_t>(int8, {2}, {1, -1});
    // x - 2: -1 0 1; w - zw: 0 -1, 2 5, -129 128
    EXPECT_EQ(run<std::int32_t>(g, std::vector<std::uint8_t> {1, 2, 3, 2, 2, 2}, 4),
            (std::vector<std::int32_t> {-129, 129, 0, 0}));
}

TEST(model_run, zero_points_of_each_matrix_by_hand) {
    auto g = product_graph();
    g.inputs.front().shape = dims {1, 3};
    g.outputs = {{"y"}};
    g.nodes.front().inputs = {"x", "w", "", "zw"};
    g.initializers["w"] = tensor_of<std::int8_t>(int8, {2, 3, 2}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6});
    g.initializers["zw"] = tensor_of<std::int8_t>(int8, {2, 1, 2}, {1, 2, -1, -128});
    // x is 1 2 3; w - zw: 0 0, 2 2, 4 4; 0 126, -2 124, -4 122
    EXPECT_EQ(run<std::int32_t>(g, std::vector<std::uint8_t> {1, 2, 3}, 4),
            (std::vector<std::int32_t> {16, 16, -16, 126 + 248 + 366}));
}

/// x has one value throughout, w another. Each sum is `inner` times their product, beyond 2^24 and beyond 2^31.
template <typename X>
void expect_exact_sums(onnx::element_type type, X x, std::int8_t w, std::size_t inner) {
    const auto extent = static_cast<std::int64_t>(inner);
    auto g = product_graph();
    g.outputs = {{"y"}};
    g.initializers["w"] = tensor_of(int8, {extent, 1}, std::vector(inner, w));
    for (const std::size_t rows : {1U, 5U, 17U})
        for (const int threads : {1, 3}) {
            g.inputs = {{"x", type, dims {static_cast<std::int64_t>(rows), extent}}};
            model_options options;
            options.threads = threads;
            const std::vector expected(rows, static_cast<std::int32_t>(extent * x * w));
            EXPECT_EQ(run<std::int32_t>(g, std::vector(rows * inner, x), rows, options), expected)
                    << rows << "x" << inner << ", " << threads << " threads";
        }
}

TEST(model_run, long_sums_are_exact_and_wrap) {
    for (const std::size_t inner : {1U, 515U, 517U, 521U, 4099U, 65793U, 65797U, 140001U}) {
        expect_exact_sums<std::uint8_t>(uint8, 255, 127, inner);
        expect_exact_sums<std::uint8_t>(uint8, 255, -128, inner);
        expect_exact_sums<std::int8_t>(int8, 127, 127, inner);
        expect_exact_sums<std::int8_t>(int8, -128, -128, inner);
    }
}

using integers = std::vector<std::int64_t>;

graph pool(const std::vector<attribute> &attributes, onnx::element_type type, const dims &x) {
    return one_node({"MaxPool", "", "", {"x"}, {}, attributes}, type, x);
}

TEST(model_run, pooling_by_hand) {
    const auto g =
            pool({{"kernel_shape", integers {2, 3}}, {"pads", integers {0, 2, 1, 2}}, {"strides", integers {1, 2}}},
                    int8, {1, 1, 2, 3});
    // Rows -5 -1 -3, -2 -4 -6 and one of padding; windows end at columns 0, 2 and 4
    EXPECT_EQ(run<std::int8_t>(g, std::vector<std::int8_t> {-5, -1, -3, -2, -4, -6}, 6),
            (std::vector<std::int8_t> {-2, -1, -3, -2, -2, -6}));
}

// 2^43 taps, all but one of them padding.
TEST(model_run, pooling_visits_no_padding) {
    constexpr std::int64_t rows = std::int64_t {1} << 21, columns = std::int64_t {1} << 22;
    const auto g = pool(
            {{"kernel_shape", integers {rows, 1, columns}}, {"pads", integers {rows - 1, 0, 0, 0, 0, columns - 1}}},
            float_, {1, 1, 1, 1, 1});
    EXPECT_EQ(run<float>(g, std::vector<float> {-3}, 1), std::vector<float> {-3});
}

// Steps of 3 from 4 before the first of 2 elements: the taps are at -4, -1, 2; -3, 0, 3; -2, 1, 4; -1, 2, 5; 0, 3, 6;
// ...
TEST(model_run, windows_of_padding_alone_are_lowest) {
    const auto g = pool(
            {{"kernel_shape", integers {3}}, {"dilations", integers {3}}, {"pads", integers {4, 7}}}, int8, {1, 1, 2});
    EXPECT_EQ(run<std::int8_t>(g, std::vector<std::int8_t> {5, 6}, 7),
            (std::vector<std::int8_t> {-128, 5, 6, -128, 5, 6, -128}));
}

graph padded_convolution(std::int64_t pad) {
    auto g =
            one_node({"ConvInteger", "", "", {"x", "w"}, {}, {{"pads", integers {0, pad, 0, 0}}}}, uint8, {1, 1, 1, 1});
    g.initializers["w"] = tensor_of<std::int8_t>(int8, {1, 1, 1, 1}, {-3});
    return g;
}

TEST(model_run, convolutions_padded_far) {
    for (const std::int64_t pad : {1 << 15, 1 << 17}) { // by oneDNN; and where its generated code would be too long
        std::vector<std::int32_t> expected(static_cast<std::size_t>(pad + 1));
        expected.back() = -15;
        EXPECT_EQ(run<std::int32_t>(padded_convolution(pad), std::vector<std::uint8_t> {5}, expected.size()), expected);
    }
    model::parse(write(padded_convolution(1 << 30)), "m.onnx"); // loads without delay
}

// oneDNN counts rows in int, and divides by zero.
TEST(model_run, more_rows_than_an_int_counts) {
    for (const std::int64_t rows : {std::int64_t {1} << 31, std::int64_t {1} << 32, (std::int64_t {1} << 32) + 1}) {
        auto g = product_graph();
        g.inputs.front().shape = dims {rows, 3};
        g.outputs = {{"y"}};
        EXPECT_EQ(model::parse(write(g), "m.onnx").outputs().front().shape, (dims {rows, 2}));
    }
}

TEST(model_run, relu_keeps_nan_and_minus_0) {
    const auto y = run<std::uint32_t>(one_node({"Relu", "", "", {"x"}}, float_, {4}),
            std::vector<std::uint32_t> {0x7fc00000, 0x80000000, 0xbf800000, 0x3f800000}, 4);
    EXPECT_EQ(y, (std::vector<std::uint32_t> {0x7fc00000, 0x80000000, 0, 0x3f800000}));
}

/// a op b, element by element, of float16 by its bits.
template <typename T>
std::vector<T> combined(const char *op, onnx::element_type type, const std::vector<T> &a, const std::vector<T> &b) {
    auto g = one_node({op, "", "", {"x", "b"}}, type, {std::ssize(a)});
    g.opsets[""] = 14;
    g.initializers["b"] = tensor_of(type, {std::ssize(b)}, b);
    return run<T>(g, a, a.size());
}

using i8 = std::vector<std::int8_t>;
using u8 = std::vector<std::uint8_t>;
using i32 = std::vector<std::int32_t>;
using codes = std::vector<std::uint16_t>; // of float16
using f32 = std::vector<float>;

TEST(model_run, sums_of_every_type_by_hand) {
    EXPECT_EQ(combined("Add", int8, i8 {127, -128, 5}, i8 {1, -1, -7}), (i8 {-128, 127, -2}));
    EXPECT_EQ(combined("Add", uint8, u8 {200, 255, 5}, u8 {100, 255, 7}), (u8 {44, 254, 12}));
    EXPECT_EQ(combined("Add", int32, i32 {2147483647, -2147483648, 5}, i32 {1, -1, -7}),
            (i32 {-2147483648, 2147483647, -2}));
    EXPECT_EQ(combined("Add", float_, f32 {1, 16777216, 0.5F}, f32 {2, 1, -0.25F}), (f32 {3, 16777216, 0.25F}));
    // 1 + 2^-11 is a tie, 1 + 1025 * 2^-21 is above it; 65504 + 16 is a tie beyond the highest, 65504 + 8 below it
    EXPECT_EQ(combined("Add", float16, codes {0x3c00, 0x3c00, 0x7bff, 0x7bff}, codes {0x1000, 0x1001, 0x4c00, 0x4800}),
            (codes {0x3c00, 0x3c01, 0x7c00, 0x7bff}));
}

TEST(model_run, products_of_every_type_by_hand) {
    // 256, 128, -132; 272, 65025; 2^32, 2147488281
    EXPECT_EQ(combined("Mul", int8, i8 {16, -128, 11}, i8 {16, -1, -12}), (i8 {0, -128, 124}));
    EXPECT_EQ(combined("Mul", uint8, u8 {16, 255, 5}, u8 {17, 255, 7}), (u8 {16, 1, 35}));
    EXPECT_EQ(combined("Mul", int32, i32 {65536, 46341, -5}, i32 {65536, 46341, 7}), (i32 {0, -2147479015, -35}));
    EXPECT_EQ(combined("Mul", float_, f32 {3, 0.5F}, f32 {-2, 0.5F}), (f32 {-6, 0.25F}));
    // 2^-24 / 2 and 3 * 2^-24 / 2 are ties; 256 * 256 is beyond the highest; 1.5 * -2
    EXPECT_EQ(combined("Mul", float16, codes {0x0001, 0x0003, 0x5c00, 0x3e00}, codes {0x3800, 0x3800, 0x5c00, 0xc000}),
            (codes {0, 0x0002, 0x7c00, 0xc200}));
}

TEST(model_run, halves_round_once_for_each_step) {
    // tanh of float16 1 is 0.76159415595...; in float 0x3f42f7d6, in float16 0x3a18 (0.76171875)
    EXPECT_EQ(run<std::uint16_t>(
                      one_node({"Tanh", "", "", {"x"}}, float16, {2}), std::vector<std::uint16_t> {0x3c00, 0xfc00}, 2),
            (std::vector<std::uint16_t> {0x3a18, 0xbc00}));
    EXPECT_EQ(run<std::uint16_t>(one_node({"Sigmoid", "", "", {"x"}}, float16, {3}),
                      std::vector<std::uint16_t> {0, 0xfc00, 0x7c00}, 3),
            (std::vector<std::uint16_t> {0x3800, 0, 0x3c00}));
    EXPECT_EQ(run<std::uint32_t>(one_node({"Tanh", "", "", {"x"}}, float_, {1}), std::vector<float> {1}, 1),
            (std::vector<std::uint32_t> {0x3f42f7d6}));
}

TEST(model_run, empty_tensors) {
    auto g = product_graph();
    g.inputs.front().shape = dims {0, 3};
    g.outputs.front().shape = dims {0, 2};
    const auto m = model::parse(write(g), "m.onnx");
    EXPECT_NO_THROW(m.run({nullptr}, {nullptr}));
    g.inputs.front().shape = dims {2, 0};
    g.outputs.front().shape = dims {2, 2};
    g.initializers["w"] = {{int8, {0, 2}}, {}};
    EXPECT_EQ(run<std::int32_t>(g, std::vector<std::uint8_t> {0}, 4), std::vector<std::int32_t>(4, 0));
}

TEST(model_run, on_many_threads_at_once) {
    constexpr std::int64_t rows = 16, inner = 300, columns = 40;
    auto g = product_graph();
    g.inputs.front().shape = dims {rows, inner};
    g.outputs = {{"z"}};
    std::vector<std::int8_t> w(inner * columns);
    for (std::size_t i = 0; i < w.size(); ++i)
        w[i] = static_cast<std::int8_t>(i * 37 % 256);
    g.initializers["w"] = tensor_of(int8, {inner, columns}, w);
    g.nodes.push_back({"Relu", "", "", {"y"}, {"z"}});
    g.opsets[""] = 14;
    for (const int threads : {0, 1, 2}) {
        model_options options;
        options.threads = threads;
        const auto m = model::parse(write(g), "m.onnx", options);
        std::vector<std::thread> callers;
        for (int caller = 0; caller < 4; ++caller)
            callers.emplace_back([&, caller] {
                const std::vector<std::uint8_t> x(rows * inner, static_cast<std::uint8_t>(caller + 1));
                for (int again = 0; again < 50; ++again) {
                    std::vector<std::int32_t> y(rows * columns);
                    m.run({x.data()}, {y.data()});
                    for (std::size_t n = 0; n < columns; ++n) {
                        std::int32_t sum = 0;
                        for (std::size_t k = 0; k < inner; ++k)
                            sum += (caller + 1) * w[k * columns + n];
                        ASSERT_EQ(y[n + 7 * columns], std::max(sum, 0));
                    }
                }
            });
        for (auto &caller : callers)
            caller.join();
    }
}

} // namespace
} // namespace dynquant::models
