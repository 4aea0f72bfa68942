// The direct API refuses wrong statements, options and buffers, and takes right ones.
#include <cmath>

#include <gtest/gtest.h>

#include "direct.hpp"
#include "support/environment.hpp"

namespace dynquant::test {
namespace {

constexpr std::int64_t huge = std::int64_t {1} << 62;

quantization right() {
    quantization q;
    q.src = {data_type::f32, {2, 3}, {}};
    q.dst = {data_type::u8, {2, 3}, {}};
    q.scales = {data_type::f32, {2, 1}, {}};
    q.zero_points = {data_type::s32, {2, 1}, {}};
    return q;
}

template <typename Spoil>
testing::AssertionResult finds(dynquant::status status, const std::string &message, Spoil &&spoil) {
    return refused(right(), status, message, spoil);
}

TEST(direct_refusals, are_runtime_errors_with_a_status) {
    const auto refuse = [] { operation().info(); };
    const std::string message = "operation: expected one made by prepare(), given an empty one";
    EXPECT_TRUE(fails(refuse, status::invalid_arguments, message));
    try {
        refuse();
        FAIL() << "no error";
    } catch (const std::runtime_error &e) {
        EXPECT_EQ(message, e.what());
    }
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
    const std::string real = "expected data type f32, f16 or bf16, given ";
    const std::string quantized = "expected data type s8, u8, s4, u4, f8_e4m3 or f8_e5m2, given ";
    EXPECT_TRUE(finds(status::invalid_data_type, "src: " + real + "s8", [](auto &q) { q.src.type = data_type::s8; }));
    EXPECT_TRUE(finds(
            status::invalid_data_type, "dst: " + quantized + "s32", [](auto &q) { q.dst.type = data_type::s32; }));
    EXPECT_TRUE(finds(status::invalid_data_type, "dst: " + real + "u8", [](auto &q) {
        q.dir = direction::dequantize;
        q.src.type = data_type::u8;
    }));
    EXPECT_TRUE(finds(status::invalid_data_type, "src: " + quantized + "bf16", [](auto &q) {
        q.dir = direction::dequantize;
        q.src.type = data_type::bf16;
    }));
    EXPECT_TRUE(finds(
            status::invalid_data_type, "scales: " + real + "s32", [](auto &q) { q.scales.type = data_type::s32; }));
    EXPECT_TRUE(finds(status::invalid_data_type, "zps: expected data type s32, s8, u8, s4 or u4, given f32",
            [](auto &q) { q.zero_points->type = data_type::f32; }));
    EXPECT_TRUE(finds(status::invalid_arguments, "zps: expected none for f8_e4m3, given some of s32",
            [](auto &q) { q.dst.type = data_type::f8_e4m3; }));
}

TEST(direct_refusals, second_scales_beside_other_scales_than_nvfp4s) {
    const auto refused_in = [](direction dir, data_type src, data_type dst, numerics rule) {
        return finds(status::invalid_arguments,
                std::string("second scales: expected none for ") + to_string(dir) + ", given some of f32",
                [=](auto &q) {
                    q.dir = dir;
                    q.src.type = src;
                    q.dst.type = dst;
                    q.rule = rule;
                    q.zero_points.reset();
                    q.second_scales = parameter {data_type::f32, q.src.dims, {}};
                });
    };
    for (const auto rule : {numerics::strict, numerics::onnx}) {
        EXPECT_TRUE(refused_in(direction::quantize, data_type::f32, data_type::u8, rule));
        EXPECT_TRUE(refused_in(direction::dequantize, data_type::u8, data_type::f32, rule));
    }
}

/// Numbers outside an enumeration: just below, just above and far above.
std::vector<int> numbers_beyond(int enumerators) {
    return {-1, enumerators, 1000000};
}

TEST(direct_refusals, data_types_that_are_none) {
    const std::string real = "expected data type f32, f16 or bf16, given number ";
    const std::string quantized = "expected data type s8, u8, s4, u4, f8_e4m3 or f8_e5m2, given number ";
    for (const int number : numbers_beyond(21)) {
        const auto none = static_cast<data_type>(number);
        const auto text = std::to_string(number);
        EXPECT_TRUE(finds(status::invalid_data_type, "src: " + real + text, [=](auto &q) { q.src.type = none; }));
        EXPECT_TRUE(finds(status::invalid_data_type, "dst: " + quantized + text, [=](auto &q) { q.dst.type = none; }));
        EXPECT_TRUE(finds(status::invalid_data_type, "src: " + quantized + text, [=](auto &q) {
            q.dir = direction::dequantize;
            q.src.type = none;
        }));
        EXPECT_TRUE(finds(status::invalid_data_type, "dst: " + real + text, [=](auto &q) {
            q.dir = direction::dequantize;
            q.src.type = data_type::u8;
            q.dst.type = none;
        }));
        EXPECT_TRUE(finds(status::invalid_data_type, "scales: " + real + text, [=](auto &q) { q.scales.type = none; }));
        EXPECT_TRUE(
                finds(status::invalid_data_type, "zps: expected data type s32, s8, u8, s4 or u4, given number " + text,
                        [=](auto &q) { q.zero_points->type = none; }));
        EXPECT_TRUE(finds(status::invalid_arguments, "zps: expected none for f8_e4m3, given some of number " + text,
                [=](auto &q) {
                    q.dst.type = data_type::f8_e4m3;
                    q.zero_points->type = none;
                }));
        EXPECT_TRUE(
                finds(status::invalid_data_type, "zps: expected data type f8_e4m3, given number " + text, [=](auto &q) {
                    q.rule = numerics::onnx;
                    q.dst.type = data_type::f8_e4m3;
                    q.zero_points->type = none;
                }));
        EXPECT_TRUE(finds(status::invalid_arguments,
                "second scales: expected none for quantize, given some of number " + text, [=](auto &q) {
                    q.second_scales = parameter {none, {2, 1}, {}};
                }));
        EXPECT_STREQ(to_string(none), "unknown");
    }
}

TEST(direct_refusals, other_values_that_are_none) {
    for (const int number : numbers_beyond(2)) {
        EXPECT_TRUE(finds(status::invalid_arguments,
                "direction: expected quantize or dequantize, given number " + std::to_string(number),
                [=](auto &q) { q.dir = static_cast<direction>(number); }));
        EXPECT_STREQ(to_string(static_cast<direction>(number)), "unknown");
    }
    for (const int number : numbers_beyond(3)) {
        const auto text = std::to_string(number);
        EXPECT_TRUE(finds(status::invalid_arguments, "numerics: expected strict, any or onnx, given number " + text,
                [=](auto &q) { q.rule = static_cast<numerics>(number); }));
        EXPECT_STREQ(to_string(static_cast<numerics>(number)), "unknown");
        EXPECT_STREQ(to_string(static_cast<kernel_kind>(number)), "unknown");
        EXPECT_STREQ(to_string(static_cast<isa>(number)), "unknown");
    }
    for (const int number : numbers_beyond(4)) {
        EXPECT_TRUE(finds(status::invalid_arguments,
                "division: expected f32, f16, bf16 or f64, given number " + std::to_string(number), [=](auto &q) {
                    q.rule = numerics::onnx;
                    q.division = static_cast<precision>(number);
                }));
        EXPECT_STREQ(to_string(static_cast<precision>(number)), "unknown");
    }
}

TEST(direct_refusals, finds_nothing_wrong_with_any_combination_of_types) {
    using enum data_type;
    for (const auto real : {f32, f16, bf16})
        for (const auto quantized : {s8, u8, s4, u4})
            for (const auto scales : {f32, f16, bf16})
                for (const auto zps : {s8, u8, s32, s4, u4})
                    for (const auto dir : {direction::quantize, direction::dequantize}) {
                        auto q = right();
                        q.dir = dir;
                        q.src.type = dir == direction::quantize ? real : quantized;
                        q.dst.type = dir == direction::quantize ? quantized : real;
                        q.scales.type = scales;
                        q.zero_points->type = zps;
                        EXPECT_FALSE(check(q));
                    }
}

TEST(direct_refusals, data_types_under_numerics_onnx) {
    using enum data_type;
    const std::string quantized = "expected data type s32, s8, u8, f16, bf16, s4, u4, f8_e4m3, f8_e5m2, s16, u16, u32, "
                                  "s2, u2, f4_e2m1, f6_e2m3, f6_e3m2, f8_e4m3fnuz or f8_e5m2fnuz, given ";
    const auto under_onnx = [](auto spoil) {
        return [=](quantization &q) {
            q.rule = numerics::onnx;
            spoil(q);
        };
    };
    EXPECT_TRUE(finds(status::invalid_data_type, "src: expected data type f32, s32, f16 or bf16, given u32",
            under_onnx([](auto &q) { q.src.type = u32; })));
    EXPECT_TRUE(finds(
            status::invalid_data_type, "dst: " + quantized + "f32", under_onnx([](auto &q) { q.dst.type = f32; })));
    EXPECT_TRUE(finds(status::invalid_data_type, "dst: " + quantized + "f8_e8m0",
            under_onnx([](auto &q) { q.dst.type = f8_e8m0; })));
    EXPECT_TRUE(finds(
            status::invalid_data_type, "dst: expected data type f32, f16 or bf16, given s32", under_onnx([](auto &q) {
                q.dir = direction::dequantize;
                q.src.type = u8;
                q.dst.type = s32;
            })));
    EXPECT_TRUE(finds(status::invalid_data_type,
            "scales: expected data type f32, s32, f16, bf16, f8_e4m3 or f8_e8m0, given u8",
            under_onnx([](auto &q) { q.scales.type = u8; })));
    EXPECT_TRUE(finds(status::invalid_data_type, "zps: expected data type s32, s8, u8, s4 or u4, given u16",
            under_onnx([](auto &q) { q.zero_points->type = u16; })));
    EXPECT_TRUE(finds(status::invalid_data_type, "zps: expected data type f8_e4m3, given s32",
            under_onnx([](auto &q) { q.dst.type = f8_e4m3; })));
}

TEST(direct_refusals, finds_nothing_wrong_with_zero_points_of_the_quantized_type_under_numerics_onnx) {
    using enum data_type;
    for (const auto quantized : {s32, u32, s16, u16, s8, u8, s4, u4, s2, u2, f16, bf16, f8_e4m3, f8_e5m2, f8_e4m3fnuz,
                 f8_e5m2fnuz, f6_e2m3, f6_e3m2, f4_e2m1})
        for (const auto scales : {f32, f16, bf16, s32, f8_e4m3, f8_e8m0})
            for (const auto dir : {direction::quantize, direction::dequantize}) {
                auto q = right();
                q.rule = numerics::onnx;
                q.dir = dir;
                q.src.type = dir == direction::quantize ? f32 : quantized;
                q.dst.type = dir == direction::quantize ? quantized : f32;
                q.scales.type = scales;
                q.zero_points->type = quantized;
                EXPECT_FALSE(check(q));
            }
}

TEST(direct_refusals, choices_of_numerics_onnx) {
    const auto invalid = status::invalid_arguments;
    EXPECT_TRUE(finds(invalid, "division: expected f32 for numerics strict, given f16",
            [](auto &q) { q.division = precision::f16; }));
    EXPECT_TRUE(finds(invalid, "division: expected f32 for numerics any, given f64", [](auto &q) {
        q.rule = numerics::any;
        q.division = precision::f64;
    }));
    EXPECT_TRUE(finds(invalid, "saturate: expected false for numerics strict, given true", [](auto &q) {
        q.dst.type = data_type::f8_e4m3;
        q.zero_points.reset();
        q.saturate = true;
    }));
    const auto dequantize = [](quantization &q) {
        q.rule = numerics::onnx;
        q.dir = direction::dequantize;
        std::swap(q.src.type, q.dst.type);
    };
    EXPECT_TRUE(finds(invalid, "division: expected f32 for dequantize, given bf16", [&](auto &q) {
        dequantize(q);
        q.division = precision::bf16;
    }));
    EXPECT_TRUE(finds(invalid, "saturate: expected false for dequantize, given true", [&](auto &q) {
        dequantize(q);
        q.saturate = true;
    }));
    auto q = right();
    q.rule = numerics::onnx;
    q.division = precision::bf16;
    q.saturate = true; // no effect on integers
    EXPECT_FALSE(check(q));
}

TEST(direct_refusals, shapes) {
    EXPECT_TRUE(finds(
            status::invalid_shape, "src: expected rank 0 to 12, given 13", [](auto &q) { q.src.dims = dims(13, 1); }));
    EXPECT_TRUE(finds(status::invalid_shape, "src: expected dims of 0 or more, given -3 at dim 1",
            [](auto &q) { q.src.dims[1] = -3; }));
    EXPECT_TRUE(finds(status::invalid_shape, "dst: expected the dims of src, 2x3, given 3x2", [](auto &q) {
        q.dst.dims = {3, 2};
    }));
    EXPECT_TRUE(finds(status::invalid_shape, "dst: expected the dims of src, 2x3, given 2x3x1", [](auto &q) {
        q.dst.dims = {2, 3, 1};
    }));
}

TEST(direct_refusals, strides) {
    EXPECT_TRUE(finds(status::invalid_shape, "src: expected as many strides as dims, 2, given 1",
            [](auto &q) { q.src.strides = {1}; }));
    EXPECT_TRUE(finds(status::invalid_shape, "src: expected strides of 0 or more, given -1 at dim 1", [](auto &q) {
        q.src.strides = {3, -1};
    }));
    EXPECT_TRUE(finds(status::invalid_shape,
            "dst: expected strides whose elements do not overlap, given 2x1 for dims 2x3", [](auto &q) {
                q.dst.strides = {2, 1};
            }));
    EXPECT_TRUE(finds(status::invalid_shape,
            "dst: expected strides whose elements do not overlap, given 0x1 for dims 2x3", [](auto &q) {
                q.dst.strides = {0, 1};
            }));
}

TEST(direct_refusals, sizes_that_overflow) {
    const auto text = [](const std::string &name, const std::string &extents, const std::string &type) {
        return name + ": expected a size in bytes that fits in 62 bits, given dims " + extents + " of " + type;
    };
    EXPECT_TRUE(finds(status::invalid_shape, text("src", "4611686018427387904x2", "f32"), [](auto &q) {
        q.src.dims = q.dst.dims = {huge, 2};
    }));
    EXPECT_TRUE(finds(status::invalid_shape, text("src", "4611686018427387904x1", "f32"), [](auto &q) {
        q.src.dims = q.dst.dims = {huge, 1};
    })); // bytes
    EXPECT_TRUE(finds(status::invalid_shape, text("src", "2x3", "f32"), [](auto &q) { q.src.strides = {huge, huge}; }));
    EXPECT_TRUE(finds(status::invalid_shape, text("dst", "2x3", "u8"), [](auto &q) { q.dst.strides = {1, huge}; }));
}

TEST(direct_refusals, zero_volume_is_right_however_large_the_rest) {
    auto q = right();
    q.src.dims = q.dst.dims = {0, huge};
    q.scales.block = q.zero_points->block = {1, huge};
    EXPECT_FALSE(check(q));
}

TEST(direct_refusals, blocks) {
    EXPECT_TRUE(finds(status::invalid_shape, "scales: expected a block of rank 2, given rank 1",
            [](auto &q) { q.scales.block = {1}; }));
    EXPECT_TRUE(
            finds(status::invalid_shape, "scales: expected block extents of 1 or more, given 0 at dim 1", [](auto &q) {
                q.scales.block = {2, 0};
            }));
    EXPECT_TRUE(finds(status::invalid_shape, "zps: expected the block of scales, 2x1, given 2x3", [](auto &q) {
        q.zero_points->block = {2, 3};
    }));
}

TEST(direct_refusals, known_values) {
    EXPECT_TRUE(finds(status::invalid_shape, "scales: expected 3 values, given 2", [](auto &q) {
        q.scales.values = {1, 2};
    }));
    EXPECT_TRUE(finds(status::invalid_shape, "scales: expected 1 value, given 2", [](auto &q) {
        q.scales.block = q.zero_points->block = {2, 3};
        q.scales.values = {1, 2};
    }));
    EXPECT_TRUE(
            finds(status::invalid_arguments, "zps: expected integers within s32, given 2.14748e+09 at 1", [](auto &q) {
                q.zero_points->values = {0, 2147483648.0, 0};
            }));
    EXPECT_TRUE(finds(status::invalid_arguments, "zps: expected integers within u8, given -1 at 0", [](auto &q) {
        q.zero_points->type = data_type::u8;
        q.zero_points->values = {-1, 0, 0};
    }));
    EXPECT_TRUE(finds(status::invalid_arguments, "zps: expected integers within s4, given 8 at 1", [](auto &q) {
        q.zero_points->type = data_type::s4;
        q.zero_points->values = {-8, 8, 0};
    }));
    EXPECT_TRUE(finds(status::invalid_arguments, "zps: expected integers within s32, given 0.5 at 2", [](auto &q) {
        q.zero_points->values = {0, 0, 0.5};
    }));
}

TEST(direct_refusals, known_values_of_f8_e8m0_are_powers_of_two) {
    const auto with_values = [](const std::vector<double> &values) {
        return [values](quantization &q) {
            q.rule = numerics::onnx;
            q.scales = {data_type::f8_e8m0, q.scales.block, values};
        };
    };
    const std::string expected = "scales: expected powers of two from 2^-127 to 2^127 or NaN, given ";
    EXPECT_TRUE(finds(status::invalid_arguments, expected + "3 at 1", with_values({1, 3, 1})));
    EXPECT_TRUE(finds(status::invalid_arguments, expected + "0 at 0", with_values({0, 1, 1})));
    EXPECT_TRUE(finds(status::invalid_arguments, expected + "-2 at 2", with_values({1, 1, -2})));
    EXPECT_TRUE(finds(status::invalid_arguments, expected + "3.40282e+38 at 0", with_values({0x1p128, 1, 1})));
    auto q = right();
    with_values({0x1p-127, 0x1p127, std::nan("")})(q);
    EXPECT_FALSE(check(q));
}

TEST(direct_refusals, known_zero_points_of_floats_are_values_of_their_type) {
    const auto with_values = [](data_type type, const std::vector<double> &values) {
        return [=](quantization &q) {
            q.rule = numerics::onnx;
            q.dst.type = type;
            q.zero_points = {type, q.scales.block, values};
        };
    };
    const auto expect = [&](data_type type, const std::vector<double> &values, const std::string &what) {
        EXPECT_TRUE(finds(status::invalid_arguments, "zps: expected values that " + what, with_values(type, values)));
    };
    using enum data_type;
    const double nan = std::nan(""), infinity = HUGE_VAL;
    expect(f4_e2m1, {0, nan, 0}, "f4_e2m1 has, given nan at 1"); // no NaN, no infinity
    expect(f6_e3m2, {infinity, 0, 0}, "f6_e3m2 has, given inf at 0");
    expect(f4_e2m1, {0, 0, 2.5}, "f4_e2m1 has, given 2.5 at 2");
    expect(f8_e4m3, {0, 0, -infinity}, "f8_e4m3 has, given -inf at 2"); // NaN, no infinity
    expect(f8_e5m2, {0, 65536, 0}, "f8_e5m2 has, given 65536 at 1");
    expect(f16, {0.1, 0, 0}, "f16 has, given 0.1 at 0");
    using values_of_type = std::pair<data_type, std::vector<double>>;
    for (const auto &[type, values] : {values_of_type(f4_e2m1, {-6, 0.5, 3}), values_of_type(f8_e4m3, {nan, 448, -0.0}),
                 values_of_type(f8_e5m2fnuz, {nan, 57344, 0}), values_of_type(f16, {nan, -infinity, 0x1p-24})}) {
        auto q = right();
        with_values(type, values)(q);
        EXPECT_FALSE(check(q)) << to_string(type);
    }
}

TEST(direct_refusals, per_channel_takes_an_axis_within_the_rank) {
    EXPECT_EQ(per_channel({2, 3, 4}, 1), (dims {2, 1, 4}));
    EXPECT_EQ(per_channel({2, 3, 4}, -1), (dims {2, 3, 1}));
    EXPECT_EQ(per_channel({2, 3, 4}, -3), (dims {1, 3, 4}));
    EXPECT_EQ(per_tensor({2, 3, 4}), (dims {2, 3, 4}));
    for (const std::int64_t axis : {std::int64_t {3}, std::int64_t {-4}, INT64_MIN, INT64_MAX})
        EXPECT_TRUE(fails(
                [&] {
                    per_channel({2, 3, 4}, axis);
                },
                status::invalid_arguments,
                "axis: expected a value in [-3, 2] for rank 3, given " + std::to_string(axis)));
}

TEST(direct_refusals, run_names_the_missing_buffer_and_writes_nothing) {
    const auto op = prepare(right());
    const float src[6] = {}, scales[3] = {1, 1, 1};
    const std::int32_t zps[3] = {};
    std::uint8_t dst[6] = {9, 9, 9, 9, 9, 9};
    const auto misses = [&](const std::string &name, const arguments &args) {
        return fails(
                [&] { op.run(args); }, status::invalid_arguments, name + ": expected a buffer, given a null pointer");
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
    auto q = right();
    q.src.dims = q.dst.dims = {0, 3};
    EXPECT_NO_THROW(prepare(q).run({}));
}

TEST(direct_refusals, run_does_not_look_at_buffers_of_known_parameters) {
    auto q = right();
    q.scales.values = {1, 2, 4};
    q.zero_points->values = {0, 0, 100};
    const float src[6] = {4, 4, 4, 8, 8, 8};
    std::uint8_t dst[6] = {};
    prepare(q).run({src, nullptr, nullptr, dst});
    EXPECT_EQ(std::vector<int>(dst, dst + 6), (std::vector<int> {4, 2, 101, 8, 4, 102}));
}

TEST(direct_refusals, run_refuses_an_empty_operation) {
    const operation empty;
    EXPECT_FALSE(empty);
    const std::string message = "operation: expected one made by prepare(), given an empty one";
    EXPECT_TRUE(fails([&] { empty.run({}); }, status::invalid_arguments, message));
    EXPECT_TRUE(fails([&] { empty.info(); }, status::invalid_arguments, message));
}

/// Options and the environment choose kernel and instruction set.
class direct_choice_refusals : public testing::Test {
  protected:
    scoped_variable kernel_ {"DYNQUANT_KERNEL", std::nullopt}, isa_ {"DYNQUANT_MAX_ISA", std::nullopt};
};

TEST_F(direct_choice_refusals, a_forced_kernel_that_cannot) {
    auto q = right();
    q.rule = numerics::onnx;
    q.division = precision::f64;
    const std::string message = "kernel: 'onednn' was asked for but cannot compute this: the division is one in f64, "
                                "and numerics strict divides in f32";
    EXPECT_TRUE(fails([&] { prepare(q, {.kernel = kernel_kind::onednn}); }, status::unimplemented, message));
    const scoped_variable forced("DYNQUANT_KERNEL", "onednn");
    EXPECT_TRUE(fails([&] { prepare(q); }, status::unimplemented, message));
}

TEST_F(direct_choice_refusals, unknown_names) {
    {
        const scoped_variable forced("DYNQUANT_KERNEL", "natve");
        EXPECT_TRUE(fails([] { prepare(right()); }, status::invalid_arguments,
                "DYNQUANT_KERNEL: expected native, onednn or reference, given 'natve' (did you mean 'native'?)"));
    }
    const scoped_variable forced("DYNQUANT_MAX_ISA", "avx-512");
    const std::string message =
            "DYNQUANT_MAX_ISA: expected scalar, avx2 or avx512, given 'avx-512' (did you mean 'avx512'?)";
    EXPECT_TRUE(fails([] { prepare(right()); }, status::invalid_arguments, message));
    EXPECT_TRUE(fails([] { best_isa(); }, status::invalid_arguments, message));
}

TEST_F(direct_choice_refusals, options_that_mean_nothing) {
    EXPECT_TRUE(fails([] { prepare(right(), {.threads = -1}); }, status::invalid_arguments,
            "threads: expected 0 or more, given -1"));
    for (const int number : numbers_beyond(3)) {
        const auto given = ", given number " + std::to_string(number);
        EXPECT_TRUE(fails([&] { prepare(right(), {.max_isa = static_cast<isa>(number)}); }, status::invalid_arguments,
                "max_isa: expected scalar, avx2 or avx512" + given));
        EXPECT_TRUE(fails([&] { prepare(right(), {.kernel = static_cast<kernel_kind>(number)}); },
                status::invalid_arguments, "kernel: expected native, onednn or reference" + given));
    }
    EXPECT_NO_THROW(prepare(right(), {.max_isa = isa::avx512, .threads = 1}));
}

} // namespace
} // namespace dynquant::test
