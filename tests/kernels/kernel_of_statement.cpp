// The native kernel computes every statement: docs/reference.md lists no exception. Every statement of every type, in
// several blocks and strides, is asked for its kernel, and native gives the bits of reference.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "elements/table.hpp"
#include "quantization/shape.hpp"
#include "support/random.hpp"
#include "support/sampling.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

constexpr precision all_divisions[] = {precision::f32, precision::f16, precision::bf16, precision::f64};

const dims extents = {2, 3, 35};
constexpr std::size_t max_elements = 512; // within any strides below

/// Per tensor, per channel along each dim, groups that divide the dim and that do not, and a parameter for each
/// element.
const std::vector<dims> blocks = {{2, 3, 35}, {1, 3, 35}, {2, 1, 35}, {2, 3, 1}, {1, 1, 7}, {1, 2, 32}, {1, 1, 1}};

struct strides {
    dims src, dst;
};
/// Dense, padded to odd rows, and permuted on either side and on both.
const std::vector<strides> all_strides = {
        {{}, {}}, {{124, 41, 1}, {112, 37, 1}}, {{}, {1, 2, 6}}, {{1, 2, 6}, {}}, {{1, 2, 6}, {3, 1, 6}}};

template <typename T>
std::vector<T> repeated(const std::vector<T> &values) {
    std::vector<T> result;
    while (result.size() < max_elements)
        result.insert(result.end(), values.begin(), values.end());
    return result;
}

/// Values with ties, ends of ranges and special values. Their numbers are primes, so that no row has the same. f32
/// rounds 33685505, which is 2^25 + 2^17 + 1, to a tie of bf16.
std::vector<std::byte> values_of(data_type type) {
    if (is_integer(type)) {
        std::vector<std::int64_t> values;
        const auto [lowest, highest] = range_of(type);
        for (const auto value : std::initializer_list<std::int64_t> {0, 1, -1, 2, 3, -3, 7, 100, -77, 128, 255,
                     16777217, 2147483647, 33685505, -33685505, 65520, 4000000000})
            values.push_back(std::clamp(value, lowest, highest));
        return encode(type, repeated(values));
    }
    const std::vector<float> values = {0, -0.0F, 1, -1, 0.5F, 1.5F, 2.5F, -3.5F, 7, 100, -1000, 65000, 1e9F, -1e9F,
            1e-3F, INFINITY, -INFINITY, NAN, 45.5F};
    return encode_reals(type, repeated(values));
}

std::vector<std::byte> scales_of(data_type type) {
    if (is_integer(type))
        return encode(
                type, repeated<std::int64_t>({1, 3, 7, -2, 100, 16777217, 1000000007, 33685505, -33685505, 65520, 12}));
    if (type == f8_e8m0) return encode_reals(type, repeated<float>({1, 0.5F, 4, 0x1p-30F, 0.25F}));
    return encode_reals(type, repeated<float>({1, 0.5F, 3, 0.7F, -2, 0.01F, 7}));
}

std::vector<std::byte> zero_points_of(data_type type) {
    if (!is_integer(type)) return encode_reals(type, repeated<float>({0, 0.5F, -1, 3, 2}));
    return values_of(type);
}

/// The sample that the reference kernel makes of a statement.
sample by_reference(const quantization &q, const oracle::inputs &in) {
    sample s;
    s.q = q;
    s.in = in;
    s.expected.assign(bytes_spanned(q.dst), guarded_buffer::pattern);
    if (q.computed) {
        s.expected_scales.assign(bytes_for(q.scales.type, parameter_count(q)), guarded_buffer::pattern);
        if (q.zero_points)
            s.expected_zero_points.assign(bytes_for(q.dst.type, parameter_count(q)), guarded_buffer::pattern);
    }
    prepare(q, {.kernel = kernel_kind::reference})
            .run({in.src.data(), in.scales.data(), in.zero_points.data(), s.expected.data(), in.second_scales.data(),
                    s.expected_scales.data(), s.expected_zero_points.data()});
    return s;
}

/// Native with each instruction set.
const std::vector<variant> &native_variants() {
    static const auto variants = [] {
        auto all = universal_variants();
        std::erase_if(all, [](const variant &v) { return v.kernel != kernel_kind::native; });
        return all;
    }();
    return variants;
}

/// Whether native is chosen and gives the bits of reference. Any NaN equals any NaN, and fpmath mode any allows what
/// its rule does.
testing::AssertionResult is_native(const sample &s, int threads = 1) {
    if (const auto given = prepare(s.q).info().kernel; given != kernel_kind::native)
        return testing::AssertionFailure() << describe(s.q) << ": expected native, given " << to_string(given);
    for (const auto &v : native_variants()) {
        auto dst = std::vector(s.expected.size(), guarded_buffer::pattern);
        auto scales = std::vector(s.expected_scales.size(), guarded_buffer::pattern);
        auto zero_points = std::vector(s.expected_zero_points.size(), guarded_buffer::pattern);
        auto options = v.forced();
        options.threads = threads;
        prepare(s.q, options)
                .run({s.in.src.data(), s.in.scales.data(), s.in.zero_points.data(), dst.data(),
                        s.in.second_scales.data(), scales.data(), zero_points.data()});
        if (scales != s.expected_scales || zero_points != s.expected_zero_points)
            return testing::AssertionFailure() << describe(s.q) << ": scales or zps differ, by " << v;
        if (dst == s.expected) continue;
        if (auto result = result_right(s, dst); !result) return result << ", by " << v;
    }
    return testing::AssertionSuccess();
}

/// Tries a statement in all blocks and strides.
void try_layouts(quantization q, const oracle::inputs &in, case_sampler &sampler) {
    for (const auto &block : blocks)
        for (const auto &s : all_strides) {
            if (!sampler.takes()) continue;
            q.src.strides = s.src;
            q.dst.strides = s.dst;
            q.scales.block = block;
            if (q.zero_points) q.zero_points->block = block;
            if (q.second_scales) q.second_scales->block = extents;
            ASSERT_TRUE(is_native(by_reference(q, in)));
        }
}

/// The number of statements that check() accepts, apart from layouts.
int try_if_valid(quantization q, case_sampler &sampler) {
    q.src.dims = q.dst.dims = q.scales.block = extents;
    for (auto *const p : {&q.zero_points, &q.second_scales})
        if (*p) (*p)->block = extents;
    if (check(q)) return 0;
    oracle::inputs in = {values_of(q.src.type), scales_of(q.scales.type), {}};
    if (q.zero_points) in.zero_points = zero_points_of(q.zero_points->type);
    if (q.second_scales) in.second_scales = scales_of(f32);
    try_layouts(std::move(q), in, sampler);
    return 1;
}

/// A type of zero points, or none.
std::vector<std::optional<parameter>> all_zero_points() {
    std::vector<std::optional<parameter>> result = {std::nullopt};
    for (const auto &t : data_types)
        result.push_back(parameter {t.type, {}, {}});
    return result;
}

class kernel_of_statement : public testing::TestWithParam<data_type> {};

TEST_P(kernel_of_statement, that_quantizes_to_this_type) {
    case_sampler sampler(11);
    quantization q;
    q.dst.type = GetParam();
    int tried = 0;
    for (const auto rule : {numerics::strict, numerics::any, numerics::onnx})
        for (const auto &src : data_types)
            for (const auto &scales : data_types)
                for (const auto &zero_points : all_zero_points())
                    for (const auto division : all_divisions)
                        for (const bool saturate : {false, true}) {
                            q.rule = rule;
                            q.src.type = src.type;
                            q.scales.type = scales.type;
                            q.zero_points = zero_points;
                            q.division = division;
                            q.saturate = saturate;
                            tried += try_if_valid(q, sampler);
                            if (HasFatalFailure()) return;
                        }
    EXPECT_GE(tried, 4 * 6 * 2 * 4 * 2); // src, scales, zero points, divisions and saturation under numerics::onnx
}

TEST_P(kernel_of_statement, that_dequantizes_from_this_type) {
    case_sampler sampler;
    quantization q;
    q.dir = direction::dequantize;
    q.src.type = GetParam();
    int tried = 0;
    for (const auto rule : {numerics::strict, numerics::any, numerics::onnx})
        for (const auto &dst : data_types)
            for (const auto &scales : data_types)
                for (const auto &zero_points : all_zero_points())
                    for (const bool has_global_scale : {false, true}) {
                        q.rule = rule;
                        q.dst.type = dst.type;
                        q.scales.type = scales.type;
                        q.zero_points = zero_points;
                        q.second_scales.reset();
                        if (has_global_scale) q.second_scales = parameter {f32, {}, {}};
                        tried += try_if_valid(q, sampler);
                        if (HasFatalFailure()) return;
                    }
    EXPECT_GE(tried, 3 * 7 * 2); // dst, scales with and without a global one, zero points
}

INSTANTIATE_TEST_SUITE_P(types, kernel_of_statement, testing::ValuesIn(quantized_types), name_of_type);

/// Finite values: those of NaNs may differ, and scales of f8_e8m0 are tested elsewhere.
std::vector<std::byte> finite_values(data_type type, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(static_cast<int>(i * 7919 % 4001) - 2000) / (i % 3 == 0 ? 8 : 3);
    return encode_reals(type, values);
}

/// Calls f(statement) for each type and rule of computed scales.
template <typename F>
void for_each_computed(const F &f) {
    quantization q;
    q.rule = numerics::onnx;
    for (const auto src : {f32, f16, bf16})
        for (const auto dst : {s8, u8, s4, u4, f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3, f6_e3m2})
            for (const auto scales : {f32, f16, bf16, f8_e8m0, f8_e4m3})
                for (const auto range : {scale_range::absmax, scale_range::minmax})
                    for (const auto quotient : {scale_quotient::divide, scale_quotient::multiply_reciprocal,
                                 scale_quotient::multiply_range}) {
                        q.src.type = src;
                        q.dst.type = dst;
                        q.scales.type = scales;
                        q.computed = scale_rule {.range = range,
                                .rounding = scales == f8_e8m0 ? scale_rounding::even : scale_rounding::nearest,
                                .quotient = quotient};
                        q.zero_points.reset();
                        if (range == scale_range::minmax) q.zero_points = parameter {dst, {}, {}};
                        f(q);
                    }
}

TEST(kernel_of_statement, with_computed_scales) {
    case_sampler sampler;
    int tried = 0;
    for_each_computed([&](quantization q) {
        for (const bool scales_only : {false, true}) {
            q.computed->scales_only = scales_only;
            q.src.dims = q.dst.dims = q.scales.block = extents;
            if (q.zero_points) q.zero_points->block = extents;
            if (check(q)) continue;
            ++tried;
            try_layouts(q, {finite_values(q.src.type, max_elements), {}, {}}, sampler);
            if (testing::Test::HasFatalFailure()) return;
        }
    });
    EXPECT_GE(tried, 3 * 9 * 3 * 2); // src, dst, scales, scales_only
}

/// Tensors that are cut into boxes which begin within bytes of dst and of the zero points.
TEST(kernel_of_statement, with_computed_scales_of_long_odd_rows) {
    struct shape {
        dims extents, block, dst_strides;
    };
    const shape shapes[] = {{{3, 70001}, {1, 32}, {}}, {{3, 70001}, {1, 33}, {70003, 1}},
            {{3, 5, 30011}, {3, 1, 5}, {}}, {{70001, 3}, {1, 3}, {}}, {{70001, 3}, {33, 1}, {1, 70001}}};
    case_sampler sampler;
    for (const auto &of : shapes)
        for_each_computed([&](quantization q) {
            q.src.dims = q.dst.dims = of.extents;
            q.dst.strides = of.dst_strides;
            q.scales.block = of.block;
            if (q.zero_points) q.zero_points->block = of.block;
            if (q.src.type != f32 || check(q) || !sampler.takes()) return;
            const auto elements = static_cast<std::size_t>(*volume(of.extents));
            const auto s = by_reference(q, {finite_values(f32, elements), {}, {}});
            for (const int threads : {1, 3})
                ASSERT_TRUE(is_native(s, threads)) << "on " << threads << " threads";
        });
}

} // namespace
} // namespace dynquant::test
