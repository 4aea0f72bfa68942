// Rows of every small shape are right: lengths around the lanes of each instruction set, parameters that are shared,
// one per element or strided, inside and outside the fast division's guard within one tensor.
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "oracle/elements.hpp"
#include "support/random.hpp"
#include "support/sampling.hpp"

namespace dynquant::test {
namespace {

class row_shapes : public testing::TestWithParam<direction> {
  protected:
    /// Types and zero points vary with the shape, so all combinations occur.
    testing::AssertionResult mixed(
            const dims &extents, const dims &block, dims src_strides = {}, dims dst_strides = {}) {
        random_source random(static_cast<std::uint64_t>(++count_));
        if (!sampler_.takes()) return testing::AssertionSuccess();
        const auto integer = count_ % 2 == 0 ? data_type::s8 : data_type::u8;
        auto q = statement_of(GetParam(), data_type::f32, integer, extents, block);
        q.src.strides = std::move(src_strides);
        q.dst.strides = std::move(dst_strides);
        constexpr data_type types[] = {data_type::s8, data_type::u8, data_type::s32};
        if (count_ % 4 != 0) q.zero_points = {types[count_ % 3], block, {}};
        const auto kind = count_ % 5 < 3 ? parameters::fast : parameters::mixed;
        return computed_right(random_sample(random, q, kind), universal_variants());
    }

  private:
    int count_ = 0;
    case_sampler sampler_;
};

TEST_P(row_shapes, per_channel_with_short_inner_runs) {
    for (std::int64_t channels = 1; channels <= 70; ++channels)
        for (std::int64_t inner = 1; inner <= 70; inner += channels % 4 == 1 ? 1 : 3)
            ASSERT_TRUE(mixed({2, channels, inner}, {2, 1, inner}));
}

TEST_P(row_shapes, per_channel_with_short_inner_runs_in_many_rows) { // enough rows to expand a parameter to each column
    for (const std::int64_t channels : {65, 130, 257, 700})
        for (std::int64_t inner = 2; inner <= 21; ++inner)
            ASSERT_TRUE(mixed({6, channels, inner}, {6, 1, inner}));
}

TEST_P(row_shapes, channels_last) {
    for (std::int64_t channels = 1; channels <= 300; ++channels)
        ASSERT_TRUE(mixed({3, channels}, {3, 1}));
    for (const std::int64_t channels : {511, 512, 513, 1023, 1024, 1025, 1600}) // around the widths of chunks
        ASSERT_TRUE(mixed({3, channels}, {3, 1}));
}

TEST_P(row_shapes, channels_last_again_and_again) {
    for (std::int64_t channels = 1; channels <= 20; ++channels)
        ASSERT_TRUE(mixed({700, channels}, {700, 1}));
    for (const std::int64_t channels : {63, 64, 65, 511, 512, 513}) // around the longest rows that are joined
        ASSERT_TRUE(mixed({40, channels}, {40, 1}));
    for (const std::int64_t channels : {3, 16, 48, 100}) // several chunks and a partial one, padded or not
        for (const std::int64_t padding : {0, 16})
            ASSERT_TRUE(mixed({3, 300, channels}, {3, 300, 1}, {300 * channels + padding, channels, 1}));
    for (std::int64_t channels = 1; channels <= 7; ++channels)
        for (std::int64_t inner = 1; inner <= 17; ++inner)
            ASSERT_TRUE(mixed({50, channels, inner}, {50, 1, inner}));
}

TEST_P(row_shapes, per_tensor) {
    for (std::int64_t count = 1; count <= 300; ++count)
        ASSERT_TRUE(mixed({count}, {count}));
}

TEST_P(row_shapes, groups_along_the_row) {
    for (std::int64_t group = 1; group <= 70; ++group)
        for (const std::int64_t groups : {1, 2, 3, 16, 17})
            ASSERT_TRUE(mixed({3, groups * group}, {1, group}));
}

TEST_P(row_shapes, blocks_of_rows) { // rows share parameters, and several blocks share one chunk_state of them
    for (const std::int64_t rows : {6, 31, 33, 70})
        for (const std::int64_t columns : {16, 40, 48, 64, 144}) {
            ASSERT_TRUE(mixed({2, rows, columns}, {1, 32, 1}));
            ASSERT_TRUE(mixed({2, rows, columns}, {1, 7, 1}));
            ASSERT_TRUE(mixed({2, rows, columns}, {2, 7, 1}));
            ASSERT_TRUE(mixed({2, rows, columns}, {1, 32, 1}, {rows * columns + 16, columns, 1}));
        }
    for (const std::int64_t columns : {512, 1024, 1040}) // around the widths of chunks
        ASSERT_TRUE(mixed({40, columns}, {32, 1}));
}

TEST_P(row_shapes, blocks_of_32_along_many_rows) { // more parameters than a chunk
    for (const std::int64_t rows : {31, 33, 70})
        for (const std::int64_t columns : {32, 96, 992, 1000})
            ASSERT_TRUE(mixed({rows, columns}, {1, 32}));
}

TEST_P(row_shapes, short_last_blocks) {
    for (const std::int64_t extent : {33, 35, 64, 79, 95, 97, 130})
        for (const dims &extents : {dims {extent, 3, 19}, dims {3, extent, 19}, dims {3, 19, extent}})
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const std::int64_t size : {2, 7, 16, 32}) {
                    dims grouped = {1, 1, 1}, alone = extents;
                    grouped[axis] = alone[axis] = size;
                    ASSERT_TRUE(mixed(extents, grouped)); // ONNX's block_size
                    ASSERT_TRUE(mixed(extents, alone));
                    ASSERT_TRUE(mixed(extents, grouped, {}, {1, extents[0], extents[0] * extents[1]})); // permuted
                }
}

TEST_P(row_shapes, strided_rows) {
    for (std::int64_t inner = 1; inner <= 70; ++inner)
        for (const std::int64_t stride : {0, 1, 2, 3, 64}) {
            ASSERT_TRUE(mixed({3, inner}, {3, inner}, {inner * stride, stride}));    // src
            ASSERT_TRUE(mixed({3, inner}, {1, inner}, {0, stride}, {inner + 5, 1})); // src repeated, dst padded
            ASSERT_TRUE(
                    mixed({3, inner}, {3, 1}, {inner, 1}, {inner * 3 + 2, 3})); // dst, with a parameter for each column
        }
}

TEST_P(row_shapes, permuted) {
    for (std::int64_t a = 1; a <= 20; ++a)
        for (std::int64_t b = 1; b <= 20; b += 2) {
            const dims extents = {2, a, b};
            for (const dims &block : {dims {2, a, b}, dims {2, 1, b}, dims {2, a, 1}, dims {1, a, b}}) {
                ASSERT_TRUE(mixed(extents, block, {a * b, 1, a}));                // transposed src
                ASSERT_TRUE(mixed(extents, block, {}, {a * b, 1, a}));            // transposed dst
                ASSERT_TRUE(mixed(extents, block, {a * b, 1, a}, {1, 2, 2 * a})); // src and dst permuted differently
            }
        }
}

TEST_P(row_shapes, permuted_in_tiles) {
    for (const std::int64_t a : {15, 16, 17, 63, 64, 65, 130})
        for (const std::int64_t b : {1, 2, 3, 16, 31, 64, 65, 129}) {
            const dims extents = {2, a, b};
            for (const dims &block : {dims {2, a, b}, dims {2, 1, b}, dims {2, a, 1}, dims {1, a, b}, dims {2, 1, 1}}) {
                ASSERT_TRUE(mixed(extents, block, {a * b, 1, a}));     // transposed src
                ASSERT_TRUE(mixed(extents, block, {}, {a * b, 1, a})); // transposed dst
                ASSERT_TRUE(mixed(
                        extents, block, {1, 2, 2 * a}, {a * (b + 3), b + 3, 1})); // not innermost in dst, and padded
            }
        }
    ASSERT_TRUE(mixed({2, 40, 3, 70}, {2, 40, 3, 1}, {}, {8400, 1, 2800, 40})); // two permutations
    for (const std::int64_t a : {255, 256, 257})                                // around a tile's longer side
        for (const dims &block : {dims {a, 70}, dims {1, 70}, dims {a, 1}}) {
            ASSERT_TRUE(mixed({a, 70}, block, {1, a}));
            ASSERT_TRUE(mixed({a, 70}, block, {}, {1, a}));
        }
}

/// Floats have no zero points, and only ONNX's rule.
quantization packed_statement(direction dir, data_type real, data_type packed, const dims &extents, const dims &block) {
    auto q = statement_of(dir, real, packed, extents, block);
    if (is_integer(packed))
        q.zero_points = {packed, block, {}};
    else
        q.rule = numerics::onnx;
    return q;
}

/// Transposes a src of 4 or 6 bits, in groups along the row and in groups of rows. Elements of neighbouring rows share
/// a byte.
TEST(packed_rows, packed_and_transposed) {
    case_sampler sampler;
    random_source random(4);
    const auto try_groups = [&](data_type packed, data_type real, const dims &extents, const dims &block) {
        for (const std::int64_t padding : {0, 1, 2}) {
            if (!sampler.takes()) continue;
            const auto step = extents[1] + padding;
            auto q = packed_statement(direction::dequantize, real, packed, extents, block);
            q.src.strides = {extents[2] * step, 1, step};
            q.scales.type = data_type::f16;
            if (block == extents) q.zero_points.reset();
            ASSERT_TRUE(computed_right(random_sample(random, q, parameters::fast), universal_variants()));
        }
    };
    for (const auto &[packed, real] : {std::pair {data_type::s4, data_type::f16},
                 std::pair {data_type::u4, data_type::f32}, std::pair {data_type::f6_e2m3, data_type::f32}})
        for (const std::int64_t rows : {15, 16, 65, 130})
            for (const std::int64_t groups : {1, 9})
                for (const std::int64_t group : {1, 31, 128})
                    for (const std::int64_t grouped_rows : {1, 5, 8})
                        ASSERT_NO_FATAL_FAILURE(try_groups(packed, real, {2, rows, groups * group},
                                {1, rows % grouped_rows == 0 ? grouped_rows : rows, group}));
}

/// Blocks that begin and end within a byte.
TEST(packed_rows, short_last_blocks) {
    random_source random(7);
    for (const auto dir : {direction::quantize, direction::dequantize})
        for (const auto &[packed, real] : {std::pair {data_type::s4, data_type::f16},
                     std::pair {data_type::u4, data_type::f32}, std::pair {data_type::f6_e3m2, data_type::f32}})
            for (const std::int64_t extent : {5, 33, 34, 70})
                for (const std::int64_t size : {3, 4, 32})
                    for (const std::int64_t padding : {0, 1, 3})
                        for (const bool along_rows : {false, true}) {
                            const dims extents = {2, along_rows ? 7 : extent, along_rows ? extent : 7};
                            const auto pitch = extents[2] + padding;
                            auto q = packed_statement(
                                    dir, real, packed, extents, {1, along_rows ? 1 : size, along_rows ? size : 1});
                            q.src.strides = q.dst.strides = {extents[1] * pitch, pitch, 1};
                            ASSERT_TRUE(
                                    computed_right(random_sample(random, q, parameters::fast), universal_variants()));
                        }
}

/// Blocks of rows, each of which reuses the parameters of its block, with conversions of types.
TEST(converted_rows, in_blocks_of_rows) {
    using enum data_type;
    case_sampler sampler;
    random_source random(11);
    constexpr auto quantize = direction::quantize, dequantize = direction::dequantize;
    for (const auto &[dir, real, integer] :
            {std::tuple {quantize, f16, u4}, {quantize, bf16, s8}, {dequantize, f16, s4}, {dequantize, bf16, u8}})
        for (const std::int64_t columns : {1, 3, 8, 20, 64, 300, 512, 513})
            for (const std::int64_t inner : {1, 3}) {
                if (!sampler.takes()) continue;
                const dims extents = {4, 100, columns, inner};
                const auto q = statement_of(dir, real, integer, extents, {2, 100, 1, inner}, s8);
                ASSERT_TRUE(computed_right(random_sample(random, q, parameters::fast), universal_variants()));
            }
}

// Elements do not overlap although the dims interleave: offsets 0 3 6 and 2 5 8.
TEST_P(row_shapes, dims_of_one_have_any_stride) {
    ASSERT_TRUE(mixed({1, 5, 1, 7, 1}, {1, 1, 1, 7, 1}, {3, 7, 0, 1, 999}, {0, 7, 0, 1, 1}));
    ASSERT_TRUE(mixed({1, 1, 1}, {1, 1, 1}, {5, 0, 7}, {0, 0, 0}));
}

TEST_P(row_shapes, interleaved_dst) {
    ASSERT_TRUE(mixed({2, 3}, {2, 3}, {}, {2, 3}));
    ASSERT_TRUE(mixed({2, 3}, {1, 3}, {}, {2, 3}));
    ASSERT_TRUE(mixed({2, 3}, {2, 1}, {}, {2, 3}));
}

INSTANTIATE_TEST_SUITE_P(directions, row_shapes, testing::Values(direction::quantize, direction::dequantize),
        [](const auto &value) { return to_string(value.param); });

} // namespace
} // namespace dynquant::test
