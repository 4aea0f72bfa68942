// The direct API refuses wrong statements, options and buffers, and takes right ones.
#include <cmath>

#include "direct.hpp"
#include "support/environment.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

constexpr std::int64_t huge = std::int64_t {1} << 62;

quantization right() {
    quantization q;
    q.src = {data_type::f32, {2, 3}, {}};
    q.dst = {data_type::u8, {2, 3}, {}};
    q.scales = {data_type::f32, {2, 1}, {}};
    q.zero_points = {data_type::s32, {2, 1}, {}};
    return q;
}

void expect_refused(const std::vector<refused_statement> &statements) {
    expect_refused(right(), statements);
}

const std::string real = "data type f32, f16 or bf16", quantized = "data type s8, u8, s4, u4, f8_e4m3 or f8_e5m2",
                  integer = "data type s32, s8, u8, s4 or u4";
constexpr auto quantize = direction::quantize, dequantize = direction::dequantize;
constexpr auto strict = numerics::strict, any = numerics::any, onnx = numerics::onnx;

TEST(direct_refusals, an_empty_operation_by_a_runtime_error_with_a_status) {
    const operation empty;
    EXPECT_FALSE(empty);
    const std::string message = "operation: expected one made by prepare(), given an empty one";
    EXPECT_TRUE(fails([&] { empty.run({}); }, bad_argument, message));
    EXPECT_TRUE(fails([&] { empty.info(); }, bad_argument, message));
    EXPECT_THROW(empty.info(), std::runtime_error);
}

TEST(direct_refusals, statuses_have_names) {
    EXPECT_STREQ(to_string(status::invalid_arguments), "invalid_arguments");
    EXPECT_STREQ(to_string(status::invalid_shape), "invalid_shape");
    EXPECT_STREQ(to_string(status::invalid_data_type), "invalid_data_type");
    EXPECT_STREQ(to_string(status::unimplemented), "unimplemented");
    EXPECT_STREQ(to_string(status::out_of_memory), "out_of_memory");
    EXPECT_STREQ(to_string(status::runtime_error), "runtime_error");
    EXPECT_STREQ(to_string(static_cast<status>(6)), "unknown");
}

TEST(direct_refusals, finds_nothing_wrong_with_right_statements) {
    EXPECT_FALSE(check(right()));
    quantization scalar;
    scalar.dst.type = data_type::s8;
    EXPECT_FALSE(check(scalar));
}

TEST(direct_refusals, data_types) {
    expect_refused({
            {{.src = s8}, bad_type, {"src", real, "s8"}},
            {{.dst = s32}, bad_type, {"dst", quantized, "s32"}},
            {{.dir = dequantize, .src = u8}, bad_type, {"dst", real, "u8"}},
            {{.dir = dequantize, .src = bf16}, bad_type, {"src", quantized, "bf16"}},
            {{.scales = s32}, bad_type, {"scales", real, "s32"}},
            {{.zps = f32}, bad_type, {"zps", integer, "f32"}},
            {{.dst = f8_e4m3}, bad_argument, {"zps", "none for f8_e4m3", "some of s32"}},
    });
}

TEST(direct_refusals, second_scales_beside_other_scales_than_nvfp4s) {
    const names of_quantize {"second scales", "none for quantize", "some of f32"};
    const names of_dequantize {"second scales", "none for dequantize", "some of f32"};
    for (const auto rule : {strict, onnx})
        expect_refused({
                {{.rule = rule, .second = f32, .no_zps = true}, bad_argument, of_quantize},
                {{.dir = dequantize, .rule = rule, .src = u8, .dst = f32, .second = f32}, bad_argument, of_dequantize},
        });
}

/// Numbers outside an enumeration: just below, just above and far above.
std::vector<int> numbers_beyond(int enumerators) {
    return {-1, enumerators, 1000000};
}
std::string text(int n) {
    return "number " + std::to_string(n);
}

TEST(direct_refusals, data_types_that_are_none) {
    for (const int n : numbers_beyond(21)) {
        const auto none = static_cast<data_type>(n);
        const auto given = text(n);
        expect_refused({
                {{.src = none}, bad_type, {"src", real, given}},
                {{.dst = none}, bad_type, {"dst", quantized, given}},
                {{.dir = dequantize, .src = none}, bad_type, {"src", quantized, given}},
                {{.dir = dequantize, .src = u8, .dst = none}, bad_type, {"dst", real, given}},
                {{.scales = none}, bad_type, {"scales", real, given}},
                {{.zps = none}, bad_type, {"zps", integer, given}},
                {{.dst = f8_e4m3, .zps = none}, bad_argument, {"zps", "none for f8_e4m3", "some of " + given}},
                {{.rule = onnx, .dst = f8_e4m3, .zps = none}, bad_type, {"zps", "data type f8_e4m3", given}},
                {{.second = none}, bad_argument, {"second scales", "none for quantize", "some of " + given}},
        });
        EXPECT_STREQ(to_string(none), "unknown");
    }
}

TEST(direct_refusals, other_values_that_are_none) {
    for (const int n : numbers_beyond(2)) {
        const auto none = static_cast<direction>(n);
        expect_refused({{{.dir = none}, bad_argument, {"direction", "quantize or dequantize", text(n)}}});
        EXPECT_STREQ(to_string(none), "unknown");
    }
    for (const int n : numbers_beyond(3)) {
        const auto none = static_cast<numerics>(n);
        expect_refused({{{.rule = none}, bad_argument, {"numerics", "strict, any or onnx", text(n)}}});
        EXPECT_STREQ(to_string(none), "unknown");
        EXPECT_STREQ(to_string(static_cast<kernel_kind>(n)), "unknown");
    }
    for (const int n : numbers_beyond(4)) {
        const auto none = static_cast<precision>(n);
        expect_refused(
                {{{.rule = onnx, .division = none}, bad_argument, {"division", "f32, f16, bf16 or f64", text(n)}}});
        EXPECT_STREQ(to_string(none), "unknown");
        EXPECT_STREQ(to_string(static_cast<isa>(n)), "unknown");
    }
}

TEST(direct_refusals, finds_nothing_wrong_with_any_combination_of_types) {
    for (const auto other : {f32, f16, bf16})
        for (const auto code : {s8, u8, s4, u4})
            for (const auto scales : {f32, f16, bf16})
                for (const auto zps : {s8, u8, s32, s4, u4})
                    for (const auto dir : {quantize, dequantize}) {
                        const bool quantizes = dir == quantize;
                        const auto src = quantizes ? other : code, dst = quantizes ? code : other;
                        const changes types {.dir = dir, .src = src, .dst = dst, .scales = scales, .zps = zps};
                        EXPECT_FALSE(check(types.of(right())));
                    }
}

TEST(direct_refusals, data_types_under_numerics_onnx) {
    const std::string of_onnx = "data type s32, s8, u8, f16, bf16, s4, u4, f8_e4m3, f8_e5m2, s16, u16, u32, s2, u2, "
                                "f4_e2m1, f6_e2m3, f6_e3m2, f8_e4m3fnuz or f8_e5m2fnuz";
    expect_refused({
            {{.rule = onnx, .src = u32}, bad_type, {"src", "data type f32, s32, f16 or bf16", "u32"}},
            {{.rule = onnx, .dst = f32}, bad_type, {"dst", of_onnx, "f32"}},
            {{.rule = onnx, .dst = f8_e8m0}, bad_type, {"dst", of_onnx, "f8_e8m0"}},
            {{.dir = dequantize, .rule = onnx, .src = u8, .dst = s32}, bad_type, {"dst", real, "s32"}},
            {{.rule = onnx, .scales = u8}, bad_type,
                    {"scales", "data type f32, s32, f16, bf16, f8_e4m3 or f8_e8m0", "u8"}},
            {{.rule = onnx, .zps = u16}, bad_type, {"zps", integer, "u16"}},
            {{.rule = onnx, .dst = f8_e4m3}, bad_type, {"zps", "data type f8_e4m3", "s32"}},
    });
}

TEST(direct_refusals, finds_nothing_wrong_with_zero_points_of_the_quantized_type_under_numerics_onnx) {
    for (const auto code : {s32, u32, s16, u16, s8, u8, s4, u4, s2, u2, f16, bf16, f8_e4m3, f8_e5m2, f8_e4m3fnuz,
                 f8_e5m2fnuz, f6_e2m3, f6_e3m2, f4_e2m1})
        for (const auto scales : {f32, f16, bf16, s32, f8_e4m3, f8_e8m0}) {
            const changes to {.rule = onnx, .src = f32, .dst = code, .scales = scales, .zps = code};
            auto from = to;
            from.dir = dequantize;
            std::swap(from.src, from.dst);
            EXPECT_FALSE(check(to.of(right())));
            EXPECT_FALSE(check(from.of(right())));
        }
}

TEST(direct_refusals, choices_of_numerics_onnx) {
    const changes division {.dir = dequantize, .rule = onnx, .division = precision::bf16, .src = u8, .dst = f32};
    const changes saturate {.dir = dequantize, .rule = onnx, .saturate = true, .src = u8, .dst = f32};
    expect_refused({
            {{.division = precision::f16}, bad_argument, {"division", "f32 for numerics strict", "f16"}},
            {{.rule = any, .division = precision::f64}, bad_argument, {"division", "f32 for numerics any", "f64"}},
            {{.saturate = true, .dst = f8_e4m3, .no_zps = true}, bad_argument,
                    {"saturate", "false for numerics strict", "true"}},
            {division, bad_argument, {"division", "f32 for dequantize", "bf16"}},
            {saturate, bad_argument, {"saturate", "false for dequantize", "true"}},
    });
    const changes without_effect_on_integers {.rule = onnx, .division = precision::bf16, .saturate = true};
    EXPECT_FALSE(check(without_effect_on_integers.of(right())));
}

TEST(direct_refusals, shapes_and_strides) {
    const std::string apart = "strides whose elements do not overlap";
    expect_refused({
            {{.src_dims = dims(13, 1)}, bad_shape, {"src", "rank 0 to 12", "13"}},
            {{.src_dims = {2, -3}}, bad_shape, {"src", "dims of 0 or more", "-3 at dim 1"}},
            {{.dst_dims = {3, 2}}, bad_shape, {"dst", "the dims of src, 2x3", "3x2"}},
            {{.dst_dims = {2, 3, 1}}, bad_shape, {"dst", "the dims of src, 2x3", "2x3x1"}},
            {{.src_strides = {1}}, bad_shape, {"src", "as many strides as dims, 2", "1"}},
            {{.src_strides = {3, -1}}, bad_shape, {"src", "strides of 0 or more", "-1 at dim 1"}},
            {{.dst_strides = {2, 1}}, bad_shape, {"dst", apart, "2x1 for dims 2x3"}},
            {{.dst_strides = {0, 1}}, bad_shape, {"dst", apart, "0x1 for dims 2x3"}},
    });
}

TEST(direct_refusals, sizes_that_overflow) {
    const std::string size = "a size in bytes that fits in 62 bits";
    const dims elements {huge, 2}, bytes {huge, 1};
    expect_refused({
            {{.src_dims = elements, .dst_dims = elements}, bad_shape,
                    {"src", size, "dims 4611686018427387904x2 of f32"}},
            {{.src_dims = bytes, .dst_dims = bytes}, bad_shape, {"src", size, "dims 4611686018427387904x1 of f32"}},
            {{.src_strides = {huge, huge}}, bad_shape, {"src", size, "dims 2x3 of f32"}},
            {{.dst_strides = {1, huge}}, bad_shape, {"dst", size, "dims 2x3 of u8"}},
    });
}

TEST(direct_refusals, zero_volume_is_right_however_large_the_rest) {
    const dims block {1, huge};
    const changes q {.src_dims = {0, huge}, .dst_dims = {0, huge}, .block = block, .zps_block = block};
    EXPECT_FALSE(check(q.of(right())));
}

TEST(direct_refusals, blocks) {
    expect_refused({
            {{.block = {1}}, bad_shape, {"scales", "a block of rank 2", "rank 1"}},
            {{.block = {2, 0}}, bad_shape, {"scales", "block extents of 1 or more", "0 at dim 1"}},
            {{.zps_block = {2, 3}}, bad_shape, {"zps", "the block of scales, 2x1", "2x3"}},
    });
}

TEST(direct_refusals, known_values) {
    const dims whole {2, 3};
    expect_refused({
            {{.values = {1, 2}}, bad_shape, {"scales", "3 values", "2"}},
            {{.block = whole, .zps_block = whole, .values = {1, 2}}, bad_shape, {"scales", "1 value", "2"}},
            {{.zps_values = {0, 2147483648.0, 0}}, bad_argument, {"zps", "integers within s32", "2.14748e+09 at 1"}},
            {{.zps = u8, .zps_values = {-1, 0, 0}}, bad_argument, {"zps", "integers within u8", "-1 at 0"}},
            {{.zps = s4, .zps_values = {-8, 8, 0}}, bad_argument, {"zps", "integers within s4", "8 at 1"}},
            {{.zps_values = {0, 0, 0.5}}, bad_argument, {"zps", "integers within s32", "0.5 at 2"}},
    });
}

TEST(direct_refusals, known_values_of_f8_e8m0_are_powers_of_two) {
    const auto with = [](const std::vector<double> &values) {
        return changes {.rule = onnx, .scales = f8_e8m0, .values = values};
    };
    const std::string powers = "powers of two from 2^-127 to 2^127 or NaN";
    expect_refused({
            {with({1, 3, 1}), bad_argument, {"scales", powers, "3 at 1"}},
            {with({0, 1, 1}), bad_argument, {"scales", powers, "0 at 0"}},
            {with({1, 1, -2}), bad_argument, {"scales", powers, "-2 at 2"}},
            {with({0x1p128, 1, 1}), bad_argument, {"scales", powers, "3.40282e+38 at 0"}},
    });
    EXPECT_FALSE(check(with({0x1p-127, 0x1p127, std::nan("")}).of(right())));
}

TEST(direct_refusals, known_zero_points_of_floats_are_values_of_their_type) {
    const auto with = [](data_type type, const std::vector<double> &values) {
        return changes {.rule = onnx, .dst = type, .zps = type, .zps_values = values};
    };
    const double nan = std::nan(""), infinity = HUGE_VAL;
    expect_refused({
            {with(f4_e2m1, {0, nan, 0}), bad_argument, {"zps", "f4_e2m1", "nan at 1"}}, // no NaN, no infinity
            {with(f6_e3m2, {infinity, 0, 0}), bad_argument, {"zps", "f6_e3m2", "inf at 0"}},
            {with(f4_e2m1, {0, 0, 2.5}), bad_argument, {"zps", "f4_e2m1", "2.5 at 2"}},
            {with(f8_e4m3, {0, 0, -infinity}), bad_argument, {"zps", "f8_e4m3", "-inf at 2"}}, // NaN, no infinity
            {with(f8_e5m2, {0, 65536, 0}), bad_argument, {"zps", "f8_e5m2", "65536 at 1"}},
            {with(f16, {0.1, 0, 0}), bad_argument, {"zps", "f16", "0.1 at 0"}},
    });
    for (const auto &right_one : {with(f4_e2m1, {-6, 0.5, 3}), with(f8_e4m3, {nan, 448, -0.0}),
                 with(f8_e5m2fnuz, {nan, 57344, 0}), with(f16, {nan, -infinity, 0x1p-24})})
        EXPECT_FALSE(check(right_one.of(right()))) << to_string(*right_one.dst);
}

TEST(direct_refusals, per_channel_takes_an_axis_within_the_rank) {
    EXPECT_EQ(per_channel({2, 3, 4}, 1), (dims {2, 1, 4}));
    EXPECT_EQ(per_channel({2, 3, 4}, -1), (dims {2, 3, 1}));
    EXPECT_EQ(per_channel({2, 3, 4}, -3), (dims {1, 3, 4}));
    EXPECT_EQ(per_tensor({2, 3, 4}), (dims {2, 3, 4}));
    const dims extents {2, 3, 4};
    for (const std::int64_t axis : {std::int64_t {3}, std::int64_t {-4}, INT64_MIN, INT64_MAX})
        EXPECT_TRUE(fails([&] { per_channel(extents, axis); }, bad_argument,
                names {"axis", "a value in [-3, 2] for rank 3", std::to_string(axis)}));
}

TEST(direct_refusals, run_names_the_missing_buffer_and_writes_nothing) {
    const auto op = prepare(right());
    const float src[6] = {}, scales[3] = {1, 1, 1};
    const std::int32_t zps[3] = {};
    std::uint8_t dst[6] = {9, 9, 9, 9, 9, 9};
    const auto misses = [&](const std::string &name, const arguments &args) {
        return fails([&] { op.run(args); }, bad_argument, names {name, "a buffer", "a null pointer"});
    };
    EXPECT_TRUE(misses("src", {nullptr, scales, zps, dst}));
    EXPECT_TRUE(misses("scales", {src, nullptr, zps, dst}));
    EXPECT_TRUE(misses("zps", {src, scales, nullptr, dst}));
    EXPECT_TRUE(misses("dst", {src, scales, zps, nullptr}));
    for (const auto value : dst)
        EXPECT_EQ(value, 9);
    EXPECT_NO_THROW(op.run({src, scales, zps, dst}));
    EXPECT_EQ(dst[0], 0);
}

// Nothing runs: the sanitizers see sizes and strides that overflow while a plan is made.
TEST(direct_refusals, prepare_takes_the_largest_sizes) {
    struct largest {
        dims extents, src_strides, block;
    };
    for (const auto &[extents, src_strides, block] :
            {largest {{huge / 2}, {0}, {huge / 2}}, {{4, huge / 8}, {0, 0}, {4, huge / 8}},
                    {{4, huge / 8}, {1, 0}, {1, huge / 8}}, {{huge / 8, 4}, {0, 1}, {huge / 8, 1}}})
        for (const auto dst : {data_type::u8, data_type::u4}) {
            quantization q;
            q.src = {data_type::f32, extents, src_strides};
            q.dst = {dst, extents, {}};
            q.scales = {data_type::f32, block, {}};
            EXPECT_EQ(prepare(q, {.kernel = kernel_kind::native}).info().kernel, kernel_kind::native);
        }
}

TEST(direct_refusals, run_needs_no_buffers_for_zero_volume) {
    EXPECT_NO_THROW(prepare(changes {.src_dims = {0, 3}, .dst_dims = {0, 3}}.of(right())).run({}));
}

TEST(direct_refusals, run_does_not_look_at_buffers_of_known_parameters) {
    const changes known {.values = {1, 2, 4}, .zps_values = {0, 0, 100}};
    const float src[6] = {4, 4, 4, 8, 8, 8};
    std::uint8_t dst[6] = {};
    prepare(known.of(right())).run({src, nullptr, nullptr, dst});
    EXPECT_EQ(std::vector<int>(dst, dst + 6), (std::vector<int> {4, 2, 101, 8, 4, 102}));
}

/// Options and the environment choose kernel and instruction set.
class direct_choice_refusals : public testing::Test {
  protected:
    scoped_variable kernel_ {"DYNQUANT_KERNEL", std::nullopt}, isa_ {"DYNQUANT_MAX_ISA", std::nullopt};
};

TEST_F(direct_choice_refusals, a_forced_kernel_that_cannot) {
    const auto q = changes {.rule = onnx, .division = precision::f64}.of(right());
    const std::string message = DYNQUANT_TEST_ONEDNN
            ? "kernel: 'onednn' was asked for but cannot compute this: the division is one in f64, and numerics strict "
              "divides in f32"
            : "kernel: expected native or reference in this library, given onednn";
    EXPECT_TRUE(fails([&] { prepare(q, {.kernel = kernel_kind::onednn}); }, status::unimplemented, message));
    const scoped_variable forced("DYNQUANT_KERNEL", "onednn");
    EXPECT_TRUE(fails([&] { prepare(q); }, status::unimplemented, message));
}

TEST_F(direct_choice_refusals, unknown_names) {
    {
        const scoped_variable forced("DYNQUANT_KERNEL", "natve");
        EXPECT_TRUE(fails([] { prepare(right()); }, bad_argument,
                names {"DYNQUANT_KERNEL", "native, onednn or reference", "'natve' (did you mean 'native'?)"}));
    }
    const scoped_variable forced("DYNQUANT_MAX_ISA", "avx-512");
    const names message {"DYNQUANT_MAX_ISA", "scalar, avx2, avx512 or neon", "'avx-512' (did you mean 'avx512'?)"};
    EXPECT_TRUE(fails([] { prepare(right()); }, bad_argument, message));
    EXPECT_TRUE(fails([] { best_isa(); }, bad_argument, message));
}

TEST_F(direct_choice_refusals, options_that_mean_nothing) {
    const auto refuses = [](const options &o, const names &message) {
        return fails([&] { prepare(right(), o); }, bad_argument, message);
    };
    EXPECT_TRUE(refuses({.threads = -1}, {"threads", "0 or more", "-1"}));
    for (const int n : numbers_beyond(4))
        EXPECT_TRUE(refuses({.max_isa = static_cast<isa>(n)}, {"max_isa", "scalar, avx2, avx512 or neon", text(n)}));
    for (const int n : numbers_beyond(3)) {
        const auto kernel = static_cast<kernel_kind>(n);
        EXPECT_TRUE(refuses({.kernel = kernel}, {"kernel", "native, onednn or reference", text(n)}));
    }
    EXPECT_NO_THROW(prepare(right(), {.max_isa = isa::avx512, .threads = 1}));
}

} // namespace
} // namespace dynquant::test
