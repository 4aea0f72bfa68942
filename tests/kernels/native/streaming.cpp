// Streaming stores are right by the oracle: the microkernels of each instruction set, at every alignment and length
// around a block. Otherwise only large tensors are streamed.
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/native/implementation.hpp"
#include "oracle/elements.hpp"
#include "oracle/onnx.hpp"
#include "oracle/statements.hpp"
#include "support/guarded_buffer.hpp"
#include "support/sampling.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::test {
namespace {

using namespace kernels::native;

/// [outer][channels][inner], dense, with a parameter for each channel.
struct shape {
    std::int64_t outer, channels, inner;

    std::int64_t count() const { return outer * channels * inner; }
    std::size_t parameter_of(std::int64_t i) const { return static_cast<std::size_t>(i / inner % channels); }
    quantization statement(direction dir, data_type src, data_type dst) const {
        quantization q;
        q.dir = dir;
        q.src = {src, {outer, channels, inner}, {}};
        q.dst = {dst, {outer, channels, inner}, {}};
        q.scales = {data_type::f32, {outer, 1, inner}, {}};
        return q;
    }
};

std::ostream &operator<<(std::ostream &out, const shape &s) {
    return out << s.outer << 'x' << s.channels << 'x' << s.inner;
}

float scale_of(std::size_t i) {
    return 0.1f + 0.01f * static_cast<float>(i % 7);
}
std::int32_t zero_point_of(std::size_t i) {
    return static_cast<std::int32_t>(i % 5) - 2;
}

struct parameters {
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;

    explicit parameters(const shape &s) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(s.channels); ++i) {
            scales.push_back(scale_of(i));
            zero_points.push_back(zero_point_of(i));
        }
    }
    /// Streams all results past the caches.
    void run(quantization q, const instruction_set &set, const void *src, void *dst) const {
        q.zero_points = {data_type::s32, q.scales.block, {}};
        kernels::settings one_thread;
        one_thread.threads = 1;
        implement(q, canonicalize(q), one_thread, set, streaming::always)
                ->run({src, scales.data(), zero_points.data(), dst});
    }
};

std::vector<shape> shapes_to_try() {
    std::vector<shape> shapes;
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

TEST(streaming, quantizes_right_at_every_alignment) {
    for (const shape &s : shapes_to_try()) {
        std::vector<float> src;
        for (std::int64_t i = 0; i < s.count(); ++i)
            src.push_back(static_cast<float>(i % 97 - 40) * 0.05f); // ties among them
        const parameters p(s);
        const auto q = s.statement(direction::quantize, data_type::f32, data_type::s8);
        for (const auto &[name, set] : available_sets())
            for (std::size_t offset = 0; offset < 64; ++offset) {
                guarded_buffer dst(src.size(), guarded_buffer::place::at_front, offset);
                p.run(q, *set, src.data(), dst.data());
                for (std::int64_t i = 0; i < s.count(); ++i) {
                    const auto at = static_cast<std::size_t>(i), of = s.parameter_of(i);
                    ASSERT_EQ(static_cast<std::int8_t>(dst.data()[at]),
                            oracle::quantize(src[at], scale_of(of), zero_point_of(of), -128, 127))
                            << "element " << i << " of " << s << " at offset " << offset;
                }
                ASSERT_TRUE(dst.intact()) << s << " at offset " << offset;
            }
    }
}

TEST(streaming, dequantizes_right_at_every_alignment) {
    for (const shape &s : shapes_to_try()) {
        std::vector<std::uint8_t> src;
        for (std::int64_t i = 0; i < s.count(); ++i)
            src.push_back(static_cast<std::uint8_t>(i * 37));
        const parameters p(s);
        const auto q = s.statement(direction::dequantize, data_type::u8, data_type::f32);
        for (const auto &[name, set] : available_sets())
            for (std::size_t offset = 0; offset < 64; offset += sizeof(float)) {
                guarded_buffer dst(src.size() * sizeof(float), guarded_buffer::place::at_front, offset);
                p.run(q, *set, src.data(), dst.data());
                const auto *results = reinterpret_cast<const float *>(dst.data());
                for (std::int64_t i = 0; i < s.count(); ++i) {
                    const auto at = static_cast<std::size_t>(i), of = s.parameter_of(i);
                    ASSERT_EQ(results[at], oracle::dequantize(src[at], scale_of(of), zero_point_of(of)))
                            << "element " << i << " of " << s << " at offset " << offset;
                }
                ASSERT_TRUE(dst.intact()) << s << " at offset " << offset;
            }
    }
}

/// Dequantizes 4-bit elements in groups to reals of every size.
struct converted_case {
    data_type src, dst;
    std::int64_t groups, size;

    quantization statement() const {
        quantization q;
        q.dir = direction::dequantize;
        q.src = {src, {groups, size}, {}};
        q.dst = {dst, {groups, size}, {}};
        q.scales = {data_type::f32, {1, size}, {}};
        return q;
    }
};

void expect_converted_right(const converted_case &of, const instruction_set &set) {
    const auto count = of.groups * of.size;
    std::vector<std::byte> src(bytes_for(of.src, count));
    for (std::size_t i = 0; i < src.size(); ++i)
        src[i] = static_cast<std::byte>(i * 37);
    const parameters p(shape {1, of.groups, of.size});
    for (std::size_t offset = 0; offset < 64; offset += static_cast<std::size_t>(bits_in(of.dst)) / 8) {
        guarded_buffer dst(bytes_for(of.dst, count), guarded_buffer::place::at_front, offset);
        p.run(of.statement(), set, src.data(), dst.data());
        for (std::int64_t i = 0; i < count; ++i) {
            const auto group = static_cast<std::size_t>(i / of.size);
            const auto right = oracle::dequantize(
                    integer_from(of.src, get_bits(of.src, src.data(), i)), scale_of(group), zero_point_of(group));
            ASSERT_EQ(get_bits(of.dst, dst.data(), i), bits_of_real(of.dst, right))
                    << "element " << i << " of " << of.groups << " groups of " << of.size << " at offset " << offset;
        }
        ASSERT_TRUE(dst.intact()) << of.groups << " groups of " << of.size << " at offset " << offset;
    }
}

TEST(streaming, converts_right_at_every_alignment) {
    using enum data_type;
    case_sampler sampler(7);
    for (const auto src : {s4, u4, s8, u8})
        for (const auto dst : {f32, f16, bf16})
            for (const std::int64_t size : {1, 3, 16, 31, 32, 33, 64, 100, 128, 1024, 1500})
                for (const std::int64_t groups : {1, 2, 5, 35})
                    for (const auto &[name, set] : available_sets()) {
                        if (!sampler.takes()) continue;
                        ASSERT_NO_FATAL_FAILURE(expect_converted_right({src, dst, groups, size}, *set));
                    }
}

/// Quantizes reals of 16 bits in groups to bytes. Each row of dst is padded.
struct quantized_case {
    data_type src, dst;
    std::int64_t rows, groups, size, padding;

    std::int64_t width() const { return groups * size; }
    quantization statement() const {
        quantization q;
        q.src = {src, {rows, width()}, {}};
        q.dst = {dst, {rows, width()}, {width() + padding, 1}};
        q.scales = {data_type::f32, {rows, size}, {}};
        return q;
    }
};

std::ostream &operator<<(std::ostream &out, const quantized_case &c) {
    return out << c.rows << " rows of " << c.groups << " groups of " << c.size << ", padding " << c.padding;
}

void expect_quantized_right(const quantized_case &of, const instruction_set &set) {
    const auto count = of.rows * of.width(), pitch = of.width() + of.padding;
    std::vector<std::byte> src(bytes_for(of.src, count));
    for (std::int64_t i = 0; i < count; ++i)
        set_bits(of.src, src.data(), i, bits_of_real(of.src, static_cast<float>(i % 97 - 40) * 0.0625f));
    const parameters p(shape {1, of.groups, of.size});
    const auto [lowest, highest] = of.dst == data_type::s8 ? std::pair {-128, 127} : std::pair {0, 255};
    for (std::size_t offset = 0; offset < 64; ++offset) {
        guarded_buffer dst(
                static_cast<std::size_t>(of.rows * pitch - of.padding), guarded_buffer::place::at_front, offset);
        std::memset(dst.data(), 0xa5, dst.size());
        p.run(of.statement(), set, src.data(), dst.data());
        for (std::int64_t row = 0; row < of.rows; ++row)
            for (std::int64_t column = 0; column < pitch && row * pitch + column < pitch * of.rows - of.padding;
                    ++column) {
                const auto i = row * of.width() + column;
                const auto group = static_cast<std::size_t>(column / of.size);
                const auto given = integer_from(of.dst, get_bits(of.dst, dst.data(), row * pitch + column));
                const auto right = column >= of.width()
                        ? integer_from(of.dst, 0xa5)
                        : oracle::quantize(real_from(of.src, get_bits(of.src, src.data(), i)), scale_of(group),
                                zero_point_of(group), lowest, highest);
                ASSERT_EQ(given, right) << "column " << column << " of row " << row << " of " << of << " at offset "
                                        << offset;
            }
        ASSERT_TRUE(dst.intact()) << of << " at offset " << offset;
    }
}

TEST(streaming, quantizes_reals_of_16_bits_right_at_every_alignment) {
    using enum data_type;
    for (const auto &[src, dst] : {std::pair {f16, u8}, std::pair {bf16, s8}})
        for (const std::int64_t size : {1, 3, 8, 16, 24, 32, 48, 64, 100})
            for (const std::int64_t groups : {1, 5, 17})
                for (const std::int64_t padding : {0, 3})
                    for (const auto &[name, set] : available_sets())
                        ASSERT_NO_FATAL_FAILURE(expect_quantized_right({src, dst, 2, groups, size, padding}, *set));
}

/// Quantizes under numerics::onnx to integers of 16 and 32 bits, in groups of each row.
struct onnx_case {
    data_type src, dst;
    precision division;
    std::int64_t rows, groups, size;

    std::int64_t width() const { return groups * size; }
    std::int64_t count() const { return rows * width(); }
    quantization statement() const {
        quantization q;
        q.src = {src, {rows, width()}, {}};
        q.dst = {dst, {rows, width()}, {}};
        q.scales = {data_type::f32, {rows, size}, {}};
        q.rule = numerics::onnx;
        q.division = division;
        return q;
    }
};

struct onnx_sample {
    std::vector<std::byte> src, dst;

    explicit onnx_sample(const onnx_case &of)
        : src(bytes_for(of.src, of.count()))
        , dst(bytes_for(of.dst, of.count())) {
        for (std::int64_t i = 0; i < of.count(); ++i) {
            const auto bits = bits_of_real(of.src, static_cast<float>(i % 97 - 40) * 0.0625f);
            const auto group = static_cast<std::size_t>(i % of.width() / of.size);
            set_bits(of.src, src.data(), i, bits);
            set_bits(of.dst, dst.data(), i,
                    oracle::quantize_onnx({oracle::number_from(of.src, bits), exact::number_of(scale_of(group)),
                                                  oracle::number_of_integer(zero_point_of(group)), of.division},
                            of.dst, false));
        }
    }
};

void expect_onnx_right(const onnx_case &of) {
    const onnx_sample sample(of);
    const parameters p(shape {1, of.groups, of.size});
    for (const auto &[name, set] : available_sets())
        for (std::size_t offset = 0; offset < 64; offset += static_cast<std::size_t>(bits_in(of.dst)) / 8) {
            guarded_buffer dst(sample.dst.size(), guarded_buffer::place::at_front, offset);
            p.run(of.statement(), *set, sample.src.data(), dst.data());
            ASSERT_TRUE(dst.holds(sample.dst) && dst.intact())
                    << of.groups << " groups of " << of.size << " to " << to_string(of.dst) << " at offset " << offset;
        }
}

TEST(streaming, quantizes_to_wider_integers_right_at_every_alignment) {
    using enum data_type;
    for (const auto &[src, dst, division] : {std::tuple {f32, s16, precision::f32}, {f16, s16, precision::f16},
                 {bf16, s16, precision::bf16}, {f32, s32, precision::f32}})
        for (const std::int64_t size : {1, 3, 31, 32, 100, 129})
            for (const std::int64_t groups : {1, 5})
                ASSERT_NO_FATAL_FAILURE(expect_onnx_right({src, dst, division, 2, groups, size}));
}

/// Quantizes f32 to narrow floats by scales that are powers of two: by division, or, as computed scales do, by
/// multiplication by their reciprocals.
struct coded_case {
    data_type dst;
    std::int64_t rows, columns, block_rows, block_columns, padding;
    bool multiplies;

    /// The statement by `scales`, which may be reciprocals.
    quantization statement(bool multiplied) const {
        quantization q;
        q.rule = numerics::onnx;
        q.saturate = true;
        q.src = {data_type::f32, {rows, columns}, {}};
        q.dst = {dst, {rows, columns}, {columns + padding, 1}};
        q.scales = {data_type::f32, {block_rows, block_columns}, {}};
        if (multiplied) q.computed = scale_rule {};
        if (multiplied) q.computed->quotient = scale_quotient::multiply_reciprocal;
        return q;
    }
};

void expect_coded_right(const coded_case &of, const instruction_set &set) {
    oracle::inputs in;
    in.src.resize(static_cast<std::size_t>(of.rows * of.columns) * 4);
    for (std::int64_t i = 0; i < of.rows * of.columns; ++i)
        set_bits(data_type::f32, in.src.data(), i,
                __builtin_bit_cast(std::uint32_t, static_cast<float>(i % 97 - 40) * 0.0625F));
    const auto parameters = (of.rows / of.block_rows) * (of.columns / of.block_columns);
    in.scales.resize(static_cast<std::size_t>(parameters) * 4);
    auto scales = in.scales;
    for (std::int64_t i = 0; i < parameters; ++i) {
        const float scale = std::ldexp(1.0F, static_cast<int>(i % 5) - 2);
        set_bits(data_type::f32, in.scales.data(), i, __builtin_bit_cast(std::uint32_t, scale));
        set_bits(
                data_type::f32, scales.data(), i, __builtin_bit_cast(std::uint32_t, of.multiplies ? 1 / scale : scale));
    }
    const auto size = bytes_for(of.dst, of.rows * (of.columns + of.padding) - of.padding);
    const auto expected = oracle::run(of.statement(false), in, std::vector<std::byte>(size, guarded_buffer::pattern));
    kernels::settings one_thread;
    one_thread.threads = 1;
    const auto q = of.statement(of.multiplies);
    const auto kernel = implement(q, canonicalize(q), one_thread, set, streaming::always);
    for (std::size_t offset = 0; offset < 64; ++offset) {
        guarded_buffer dst(size, guarded_buffer::place::at_front, offset);
        std::memset(dst.data(), static_cast<int>(guarded_buffer::pattern), dst.size());
        kernel->run({in.src.data(), scales.data(), nullptr, dst.data()});
        const std::vector<std::byte> given(dst.data(), dst.data() + size);
        ASSERT_EQ(given, expected) << to_string(of.dst) << ' ' << of.rows << 'x' << of.columns << " in blocks of "
                                   << of.block_rows << 'x' << of.block_columns << ", padding " << of.padding
                                   << (of.multiplies ? ", multiplied" : "") << ", at offset " << offset;
        ASSERT_TRUE(dst.intact());
    }
}

TEST(streaming, quantizes_to_narrow_floats_right_at_every_alignment) {
    using enum data_type;
    for (const auto dst : {f8_e4m3, f8_e5m2, f6_e2m3, f4_e2m1})
        for (const std::int64_t columns : {64, 288, 320, 1120})
            for (const auto &[rows, columns_of_block] : {std::pair {1L, 32L}, {1L, columns}, {3L, 1L}})
                for (const std::int64_t padding : {0, 64, 12})
                    for (const bool multiplies : {false, true})
                        for (const auto &[name, set] : available_sets())
                            ASSERT_NO_FATAL_FAILURE(expect_coded_right(
                                    {dst, 3, columns, rows, columns_of_block, padding, multiplies}, *set))
                                    << name;
}

} // namespace
} // namespace dynquant::test
