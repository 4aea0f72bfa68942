// Streaming stores are right by the oracle: the microkernels of each instruction set, at every alignment and length
// around a block. Otherwise only large tensors are streamed.
#include <cmath>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/native/implementation.hpp"
#include "support/random.hpp"
#include "support/sampling.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::test {
namespace {

using namespace kernels::native;
using enum data_type;

/// Scales and zero points differ from block to block. Reals are multiples of `step`, ties among their quotients.
sample sample_of(const quantization &q, float step = 0.0625F) {
    const auto bytes = bytes_spanned(q.src);
    std::vector<float> reals, scales;
    std::vector<std::byte> codes;
    std::vector<std::int64_t> zero_points;
    for (std::size_t i = 0; i < bytes * 8 / static_cast<std::size_t>(bits_in(q.src.type)); ++i)
        reals.push_back(static_cast<float>(static_cast<int>(i % 97) - 40) * step);
    for (std::size_t i = 0; i < bytes; ++i)
        codes.push_back(static_cast<std::byte>(i * 37));
    for (std::int64_t i = 0; i < parameter_count(q); ++i) {
        scales.push_back(0.1F + 0.01F * static_cast<float>(i % 7));
        zero_points.push_back(i % 5 - 2);
    }
    oracle::inputs in = {q.dir == direction::quantize ? encode_reals(q.src.type, reals) : codes, bytes_of(scales), {}};
    if (q.zero_points) in.zero_points = encode(q.zero_points->type, zero_points);
    return {q, in};
}

/// Streams all results past the caches, at each offset within a cache line that elements of dst may have. q: what is
/// computed, in place of the sample's own statement.
void expect_right_at_every_alignment(const sample &s, const quantization &q, const tested_set &by) {
    kernels::settings one_thread;
    one_thread.threads = 1;
    const auto kernel = implement(q, canonicalize(q), one_thread, *by.code, streaming::always);
    const auto step = static_cast<std::size_t>(std::max(bits_in(q.dst.type) / 8, 1));
    for (std::size_t offset = 0; offset < 64; offset += step) {
        guarded_sample guarded(s, {guarded_buffer::place::at_front, 0, offset});
        ASSERT_TRUE(guarded.computed_right_by([&](const arguments &args) { kernel->run(args); }))
                << by.name << ", at offset " << offset;
    }
}

void expect_right_at_every_alignment(const sample &s) {
    for (const auto &by : available_sets())
        ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(s, s.q, by));
}

/// Extents of [outer][channels][inner], with a parameter for each channel.
std::vector<dims> shapes_to_try() {
    std::vector<dims> shapes;
    for (const std::int64_t count : {1, 3, 4, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 513, 600}) {
        shapes.push_back({1, 1, count}); // a row under one parameter
        shapes.push_back({1, count, 1}); // a parameter for each element
        shapes.push_back({3, 1, count}); // rows that share a parameter
        shapes.push_back({2, 5, count}); // a parameter for each row; short rows are joined
        shapes.push_back({count, 7, 1}); // a short pattern of parameters repeated
        shapes.push_back({count, 3, 5});
    }
    shapes.push_back({1, 3, 1090}); // long enough rows to be streamed at any alignment
    return shapes;
}

TEST(streaming, is_right_at_every_alignment_in_both_directions) {
    for (const auto &extents : shapes_to_try())
        for (const auto &[dir, codes] : {std::pair {direction::quantize, s8}, {direction::dequantize, u8}}) {
            const auto q = statement_of(dir, f32, codes, extents, per_channel(extents, 1), s32);
            ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(sample_of(q, 0.05F)));
        }
}

/// Dequantizes in groups, to reals of every size.
TEST(streaming, converts_right_at_every_alignment) {
    case_sampler sampler(7);
    for (const auto src : {s4, u4, s8, u8})
        for (const auto dst : {f32, f16, bf16})
            for (const std::int64_t size : {1, 3, 16, 31, 32, 33, 64, 100, 128, 1024, 1500})
                for (const std::int64_t groups : {1, 2, 5, 35}) {
                    const auto s =
                            sample_of(statement_of(direction::dequantize, dst, src, {groups, size}, {1, size}, s32));
                    for (const auto &by : available_sets()) {
                        if (!sampler.takes()) continue;
                        ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(s, s.q, by));
                    }
                }
}

/// Each row of dst is padded.
TEST(streaming, quantizes_reals_of_16_bits_right_at_every_alignment) {
    for (const auto &[src, dst] : {std::pair {f16, u8}, std::pair {bf16, s8}})
        for (const std::int64_t size : {1, 3, 8, 16, 24, 32, 48, 64, 100})
            for (const std::int64_t groups : {1, 5, 17})
                for (const std::int64_t padding : {0, 3}) {
                    auto q = statement_of(direction::quantize, src, dst, {2, groups * size}, {2, size}, s32);
                    q.dst.strides = {groups * size + padding, 1};
                    ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(sample_of(q)));
                }
}

TEST(streaming, quantizes_to_wider_integers_right_at_every_alignment) {
    for (const auto &[src, dst, division] : {std::tuple {f32, s16, precision::f32}, {f16, s16, precision::f16},
                 {bf16, s16, precision::bf16}, {f32, s32, precision::f32}})
        for (const std::int64_t size : {1, 3, 31, 32, 100, 129})
            for (const std::int64_t groups : {1, 5}) {
                auto q = statement_of(direction::quantize, src, dst, {2, groups * size}, {2, size}, s32);
                q.rule = numerics::onnx;
                q.division = division;
                ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(sample_of(q)));
            }
}

/// By scales that are powers of two: by division and, as computed scales do, by multiplication by their reciprocals.
void expect_coded_right(quantization q) {
    std::vector<float> scales, reciprocals;
    for (std::int64_t i = 0; i < parameter_count(q); ++i) {
        scales.push_back(std::ldexp(1.0F, static_cast<int>(i % 5) - 2));
        reciprocals.push_back(1 / scales.back());
    }
    sample s(q, {sample_of(q).in.src, bytes_of(scales), {}});
    ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(s));
    s.in.scales = bytes_of(reciprocals);
    q.computed = scale_rule {};
    q.computed->quotient = scale_quotient::multiply_reciprocal;
    for (const auto &by : available_sets())
        ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(s, q, by));
}

TEST(streaming, quantizes_to_narrow_floats_right_at_every_alignment) {
    case_sampler sampler;
    for (const auto dst : {f8_e4m3, f8_e5m2, f6_e2m3, f4_e2m1})
        for (const std::int64_t columns : {64, 288, 320, 1120})
            for (const dims &block : {dims {1, 32}, dims {1, columns}, dims {3, 1}})
                for (const std::int64_t padding : {0, 64, 12}) {
                    if (!sampler.takes()) continue;
                    auto q = statement_of(direction::quantize, f32, dst, {3, columns}, block);
                    q.dst.strides = {columns + padding, 1};
                    q.rule = numerics::onnx;
                    q.saturate = true;
                    ASSERT_NO_FATAL_FAILURE(expect_coded_right(q));
                }
}

} // namespace
} // namespace dynquant::test
