// The direct API refuses wrong statements that requantize, and members of requantize in other statements.
#include "direct.hpp"

namespace dynquant::test {
namespace {

quantization right() {
    quantization q;
    q.dir = direction::requantize;
    q.src = {data_type::s32, {2, 3}, {}};
    q.dst = {data_type::u8, {2, 3}, {}};
    q.scales = {data_type::f32, {2, 1}, {}};
    q.second_scales = {data_type::f32, {2, 1}, {}};
    q.bias = {data_type::s32, {2, 1}, {}};
    q.relu = true;
    return q;
}

template <typename Spoil>
testing::AssertionResult finds(dnnl_status_t status, const std::string &message, Spoil &&spoil) {
    return refused(right(), status, message, spoil);
}

TEST(direct_requantize_refusals, finds_nothing_wrong_with_right_statements) {
    EXPECT_FALSE(check(right()));
    auto q = right();
    q.second_scales->values = {0.25, 0.5, 1};
    q.bias->values = {INT32_MIN, 0, INT32_MAX};
    EXPECT_FALSE(check(q));
    q.dst.type = data_type::s8;
    q.second_scales.reset();
    q.bias.reset();
    q.relu = false;
    EXPECT_FALSE(check(q));
}

TEST(direct_requantize_refusals, data_types) {
    using enum data_type;
    const auto status = dnnl_invalid_data_type;
    EXPECT_TRUE(finds(status, "src: expected data type s32, given f32", [](auto &q) { q.src.type = f32; }));
    EXPECT_TRUE(finds(status, "dst: expected data type s8 or u8, given s4", [](auto &q) { q.dst.type = s4; }));
    EXPECT_TRUE(finds(status, "scales: expected data type f32, given f16", [](auto &q) { q.scales.type = f16; }));
    EXPECT_TRUE(finds(status, "second scales: expected data type f32, given bf16",
            [](auto &q) { q.second_scales->type = bf16; }));
    EXPECT_TRUE(finds(status, "bias: expected data type s32, given f32", [](auto &q) { q.bias->type = f32; }));
}

TEST(direct_requantize_refusals, data_types_that_are_none) {
    const auto status = dnnl_invalid_data_type;
    const auto none = static_cast<data_type>(1000000);
    const std::string given = ", given number 1000000";
    EXPECT_TRUE(finds(status, "src: expected data type s32" + given, [=](auto &q) { q.src.type = none; }));
    EXPECT_TRUE(finds(status, "dst: expected data type s8 or u8" + given, [=](auto &q) { q.dst.type = none; }));
    EXPECT_TRUE(finds(status, "scales: expected data type f32" + given, [=](auto &q) { q.scales.type = none; }));
    EXPECT_TRUE(finds(
            status, "second scales: expected data type f32" + given, [=](auto &q) { q.second_scales->type = none; }));
    EXPECT_TRUE(finds(status, "bias: expected data type s32" + given, [=](auto &q) { q.bias->type = none; }));
    EXPECT_TRUE(finds(
            dnnl_invalid_arguments, "zps: expected none for requantize, given some of number 1000000", [=](auto &q) {
                q.zero_points = {none, {2, 1}, {}};
            }));
}

TEST(direct_requantize_refusals, what_belongs_to_other_directions) {
    const auto status = dnnl_invalid_arguments;
    EXPECT_TRUE(finds(status, "zps: expected none for requantize, given some of s8", [](auto &q) {
        q.zero_points = {data_type::s8, {2, 1}, {}};
    }));
    for (const auto rule : {numerics::any, numerics::onnx})
        EXPECT_TRUE(finds(status, std::string("numerics: expected strict for requantize, given ") + to_string(rule),
                [&](auto &q) { q.rule = rule; }));
    EXPECT_TRUE(finds(status, "division: expected f32 for numerics strict, given f16",
            [](auto &q) { q.division = precision::f16; }));
    EXPECT_TRUE(finds(
            status, "saturate: expected false for numerics strict, given true", [](auto &q) { q.saturate = true; }));
}

TEST(direct_requantize_refusals, what_belongs_to_requantize) {
    for (const auto dir : {direction::quantize, direction::dequantize}) {
        const std::string name = to_string(dir);
        EXPECT_TRUE(finds(dnnl_invalid_arguments, "second scales: expected none for " + name + ", given some of f32",
                [&](auto &q) { q.dir = dir; }));
        EXPECT_TRUE(
                finds(dnnl_invalid_arguments, "bias: expected none for " + name + ", given some of s32", [&](auto &q) {
                    q.dir = dir;
                    q.second_scales.reset();
                }));
        EXPECT_TRUE(finds(dnnl_invalid_arguments, "relu: expected false for " + name + ", given true", [&](auto &q) {
            q.dir = dir;
            q.second_scales.reset();
            q.bias.reset();
        }));
    }
}

TEST(direct_requantize_refusals, shapes_and_values_of_its_parameters) {
    EXPECT_TRUE(finds(dnnl_invalid_shape, "second scales: expected the block of scales, 2x1, given 2x3", [](auto &q) {
        q.second_scales->block = {2, 3};
    }));
    EXPECT_TRUE(finds(dnnl_invalid_shape, "bias: expected the block of scales, 2x1, given 1x3", [](auto &q) {
        q.bias->block = {1, 3};
    }));
    EXPECT_TRUE(finds(dnnl_invalid_shape, "second scales: expected 3 values, given 1",
            [](auto &q) { q.second_scales->values = {1}; }));
    EXPECT_TRUE(finds(dnnl_invalid_arguments, "bias: expected integers within s32, given 0.5 at 1", [](auto &q) {
        q.bias->values = {0, 0.5, 1};
    }));
}

TEST(direct_requantize_refusals, run_names_the_missing_buffer_and_writes_nothing) {
    quantization q;
    q.dir = direction::requantize;
    q.src = {data_type::s32, {3}, {}};
    q.dst = {data_type::s8, {3}, {}};
    q.scales = {data_type::f32, {3}, {}};
    q.second_scales = {data_type::f32, {3}, {}};
    q.bias = {data_type::s32, {3}, {}};
    const auto op = prepare(q);
    const std::int32_t src[3] = {}, bias[1] = {};
    const float scale[1] = {1};
    std::int8_t dst[3] = {7, 7, 7};
    const auto misses = [&](const std::string &name, const arguments &args) {
        return fails([&] { op.run(args); }, dnnl_invalid_arguments, name + ": expected a buffer, given a null pointer");
    };
    EXPECT_TRUE(misses("second scales", {src, scale, nullptr, dst, nullptr, bias}));
    EXPECT_TRUE(misses("bias", {src, scale, nullptr, dst, scale, nullptr}));
    EXPECT_TRUE(misses("scales", {src, nullptr, nullptr, dst, scale, bias}));
    EXPECT_TRUE(misses("src", {nullptr, scale, nullptr, dst, scale, bias}));
    EXPECT_TRUE(misses("dst", {src, scale, nullptr, nullptr, scale, bias}));
    EXPECT_EQ(dst[0], 7);
    op.run({src, scale, nullptr, dst, scale, bias});
    EXPECT_EQ(dst[0], 0);
}

} // namespace
} // namespace dynquant::test
