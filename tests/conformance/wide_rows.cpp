// Many rows, wider than a chunk, are right on every kernel: blocks of rows begin and end within the rows that the
// driver takes at a time, and parameters also change along rows. The test runs on one thread, because several threads
// would share out the rows.
#include "onnx_quantizing.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

constexpr std::int64_t rows = 150, columns = 2100, zero_point = 1;

/// Small integers in a pattern whose period differs from the length of rows, vectors and chunks.
std::int64_t number(std::int64_t row, std::int64_t column) {
    return (row * 31 + column * 17 + row * column % 13) % 6;
}

/// The extents of a block of parameters.
struct block {
    std::int64_t height, width;

    /// Scales are powers of two, so products and quotients are exact in every type.
    double scale_at(std::int64_t row, std::int64_t column) const {
        return std::ldexp(1.0, static_cast<int>((row / height * 3 + column / width) % 5) - 2);
    }
};

struct wide_rows : testing::TestWithParam<block> {
    /// Computes a statement of `rows` by `columns` and compares with the right dst.
    void expect_right(direction dir, data_type src, data_type dst, data_type scales) const {
        const auto [height, width] = GetParam();
        const auto quantized = dir == direction::quantize ? dst : src;
        const bool integral = is_integer(quantized);
        const std::int64_t shift = integral ? zero_point : 0;
        quantization q;
        q.dir = dir;
        q.rule = numerics::onnx;
        q.src = {src, {rows, columns}, {}};
        q.dst = {dst, {rows, columns}, {}};
        q.scales = {scales, {height, width}};
        if (integral) q.zero_points = {quantized, q.scales.block};
        reals real, code, scale;
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column) {
                const auto n = number(row, column);
                const auto s = GetParam().scale_at(row, column);
                real.push_back(static_cast<double>(n) * s);
                code.push_back(static_cast<double>(n + shift));
                if (row % height == 0 && column % width == 0) scale.push_back(s);
            }
        const auto in = encoded(src, dir == direction::quantize ? real : code);
        const auto right = encoded(dst, dir == direction::quantize ? code : real);
        const auto zero_points =
                integral ? encoded(quantized, reals(scale.size(), zero_point)) : std::vector<std::byte> {};
        EXPECT_TRUE(agree(dst, computed(q, {in, encoded(scales, scale), zero_points}, 1), right)) << describe(q);
    }
};

TEST_P(wide_rows, are_quantized) {
    for (const auto dst : {u8, s8, u16, u4, f8_e4m3, bf16})
        expect_right(direction::quantize, f32, dst, f32);
    expect_right(direction::quantize, bf16, u8, bf16);
    expect_right(direction::quantize, f16, s8, f16);
}

TEST_P(wide_rows, are_dequantized) {
    for (const auto src : {u8, s8, u16, s4, f8_e4m3})
        expect_right(direction::dequantize, src, f32, f32);
    expect_right(direction::dequantize, u8, bf16, bf16);
}

INSTANTIATE_TEST_SUITE_P(in, wide_rows,
        testing::Values(block {1, 1}, block {5, 1}, block {50, 1}, block {75, 1}, block {150, 1}, block {1, 4},
                block {50, 4}, block {150, 4}, block {50, 100}),
        [](const auto &instance) {
            return "blocks_of_" + std::to_string(instance.param.height) + "_by_" + std::to_string(instance.param.width);
        });

} // namespace
} // namespace dynquant::test
