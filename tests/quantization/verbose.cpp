// Verbose lines appear from their level on. DYNQUANT_VERBOSE is read once, so ctest runs a program for each level.
#include <cstdlib>
#include <regex>

#include <gtest/gtest.h>

#include "../support/program.hpp"
#include "dynquant/quantization.hpp"

namespace dynquant::test {
namespace {

const int present_level = [] {
    const char *text = std::getenv("DYNQUANT_VERBOSE");
    return text ? std::atoi(text) : -1;
}();

quantization per_channel_with_zero_points() {
    quantization q;
    q.src = {data_type::f32, {2, 4}, {}};
    q.dst = {data_type::u8, {2, 4}, {1, 2}};
    q.scales = {data_type::f32, {2, 1}, {}};
    q.zero_points = {data_type::s32, {2, 1}, {}};
    return q;
}

quantization per_tensor_any() {
    quantization q;
    q.dir = direction::dequantize;
    q.src = {data_type::s8, {8}, {}};
    q.dst = {data_type::f32, {8}, {}};
    q.scales = {data_type::f32, {8}, {0.5}};
    q.rule = numerics::any;
    return q;
}

quantization groups_under_a_global_scale() {
    quantization q;
    q.dir = direction::dequantize;
    q.src = {data_type::f4_e2m1, {2, 4}, {}};
    q.dst = {data_type::f32, {2, 4}, {}};
    q.scales = {data_type::f8_e4m3, {1, 2}, {}};
    q.second_scales = {data_type::f32, {2, 4}, {}};
    q.rule = numerics::onnx;
    return q;
}

/// Whether text is `lines`, each followed by a time.
testing::AssertionResult is(const std::string &text, const std::vector<std::string> &lines) {
    const std::regex time(",[0-9.e+-]+\n");
    const std::string found = std::regex_replace(text, time, ",<ms>\n");
    std::string expected;
    for (const auto &line : lines)
        expected += line + ",<ms>\n";
    if (found == expected) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "printed:\n" << text << "expected:\n" << expected;
}

std::vector<std::string> from_level(int level, const std::string &line) {
    return present_level >= level ? std::vector {line} : std::vector<std::string> {};
}

const std::string quantize_line =
        ",cpu,quantize,reference:scalar,undef,src_f32::blocked:ab::f0 dst_u8::strided:1x2::f0,"
        "attr-scales:2:f32 attr-zero-points:2:s32,op 3 'q',2x4";

TEST(verbose, prepare_prints_from_level_2) {
    ASSERT_GE(present_level, 0) << "expected DYNQUANT_VERBOSE in the environment";
    const auto text = printed_by(
            [] { prepare(per_channel_with_zero_points(), {.kernel = kernel_kind::reference, .name = "op 3 'q'"}); });
    EXPECT_TRUE(is(text, from_level(2, "dynquant_verbose,primitive,create" + quantize_line)));
}

TEST(verbose, run_prints_from_level_1) {
    operation op;
    printed_by([&] {
        op = prepare(per_channel_with_zero_points(), {.kernel = kernel_kind::reference, .name = "op 3 'q'"});
    });
    const float src[8] = {}, scales[4] = {1, 1, 1, 1};
    const std::int32_t zps[4] = {};
    std::uint8_t dst[8];
    const auto text = printed_by([&] { op.run({src, scales, zps, dst}); });
    EXPECT_TRUE(is(text, from_level(1, "dynquant_verbose,primitive,exec" + quantize_line)));
}

TEST(verbose, says_direction_kernel_isa_and_fpmath_mode) {
    operation op;
    printed_by([&] { op = prepare(per_tensor_any(), {.kernel = kernel_kind::native, .max_isa = isa::scalar}); });
    const std::int8_t src[8] = {};
    float dst[8];
    const auto text = printed_by([&] { op.run({src, nullptr, nullptr, dst}); });
    EXPECT_TRUE(is(text,
            from_level(1,
                    "dynquant_verbose,primitive,exec,cpu,dequantize,native:scalar,undef,src_s8::blocked:a::f0 "
                    "dst_f32::blocked:a::f0,attr-scales:0:f32 attr-fpmath:any,,8")));
}

TEST(verbose, says_that_the_second_scale_is_of_the_whole_tensor) {
    const auto text = printed_by([] { prepare(groups_under_a_global_scale(), {.kernel = kernel_kind::reference}); });
    EXPECT_TRUE(is(text,
            from_level(2,
                    "dynquant_verbose,primitive,create,cpu,dequantize,reference:scalar,undef,"
                    "src_f4_e2m1::blocked:ab::f0 dst_f32::blocked:ab::f0,attr-scales:3:f8_e4m3 "
                    "attr-second-scales:0:f32 attr-rule:onnx attr-division:f32,,2x4")));
}

} // namespace
} // namespace dynquant::test
