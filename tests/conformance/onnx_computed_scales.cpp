// DynamicQuantizeLinear of the domain dynquant gives the scales, zero points and codes that are worked out here by
// hand, on every kernel and instruction set. onnx_lowering.cpp tests which rule a node has, computed_scales.cpp what
// the rules compute.
#include <algorithm>
#include <limits>

#include "support/onnx.hpp"
#include "support/variants.hpp"

namespace dynquant::test {
namespace {

using namespace tensor_proto;

template <typename Y, typename Scale>
struct results {
    std::vector<Y> y;
    std::vector<Scale> scales;
    std::vector<Y> zero_points = {};

    bool operator==(const results &) const = default;
};

template <typename Y, typename Scale>
void PrintTo(const results<Y, Scale> &r, std::ostream *out) {
    *out << "y " << testing::PrintToString(r.y) << ", y_scale " << testing::PrintToString(r.scales) << ", y_zero_point "
         << testing::PrintToString(r.zero_points);
}

/// Types of elements that are given as their bits.
using bits8 = std::uint8_t;
using bits16 = std::uint16_t;

class onnx_computed_scales : public testing::TestWithParam<variant> {
  protected:
    /// Y of less than a byte: their bytes. Bits beyond the elements are 1 before and after, also those of zero points.
    /// Zero points of symmetric scales, which are 0, are left out.
    template <typename Y, typename Scale = float, typename X = float>
    results<Y, Scale> run(const dims &shape, const std::vector<X> &x, const std::vector<onnx::attribute> &attributes,
            onnx::element_type x_type = float32) const {
        const auto n = dynamic_quantize_linear({x_type, shape}, attributes);
        const auto op = onnx::prepare(n, GetParam().forced());
        const auto &outputs = op.outputs();
        EXPECT_EQ(outputs[0].shape, shape);
        EXPECT_EQ(outputs[2].shape, outputs[1].shape);
        const auto bits = bits_of(outputs[0].type);
        const auto make = [&](std::size_t count) { return std::vector<Y>((count * bits + 7) / 8, static_cast<Y>(-1)); };
        const auto scales = count_of(outputs[1]);
        results<Y, Scale> result = {make(x.size()), std::vector<Scale>(scales), make(scales)};
        op.run({x.data(), nullptr, nullptr, result.y.data(), result.scales.data(), result.zero_points.data()});
        if (!onnx::lower(n).statement.zero_points) {
            auto zeros = make(scales);
            std::fill_n(zeros.begin(), scales * bits / 8, Y {0});
            if (scales * bits % 8 != 0) zeros.back() = static_cast<Y>(-1 << scales * bits % 8);
            EXPECT_EQ(result.zero_points, zeros);
            result.zero_points.clear();
        }
        return result;
    }

  private:
    static std::size_t bits_of(onnx::element_type type) {
        if (type == int4 || type == uint4 || type == float4e2m1) return 4;
        return type == float6e2m3 || type == float6e3m2 ? 6 : 8;
    }
    static std::size_t count_of(const onnx::value &v) {
        std::size_t count = 1;
        for (const auto extent : v.shape)
            count *= static_cast<std::size_t>(extent);
        return count;
    }
};

using signed8 = results<std::int8_t, float>;
using unsigned8 = results<std::uint8_t, float>;

TEST_P(onnx_computed_scales, of_the_whole_tensor_by_default_as_onnx) {
    // 255 / 255 and 51 steps below 0.
    EXPECT_EQ(run<std::uint8_t>({3}, {-51.F, 0.F, 204.F}, {}), (unsigned8 {{0, 51, 255}, {1}, {51}}));
    EXPECT_EQ(run<std::int8_t>({3}, {-51.F, 0.F, 204.F}, {{"to", int8}, {"symmetric", 0}}),
            (signed8 {{-128, -77, 127}, {1}, {-77}}));
    // 254 / 127, without -128. 1 / 2 is a tie.
    EXPECT_EQ(run<std::int8_t>({3}, {-254.F, 1.F, 6.F}, {{"to", int8}}), (signed8 {{-127, 0, 3}, {2}}));
}

TEST_P(onnx_computed_scales, of_a_token) {
    const std::vector<float> x = {1, -2, 254, 0, 0, 0};
    const signed8 expected = {{0, -1, 127, 0, 0, 0}, {2, 1}};
    EXPECT_EQ(run<std::int8_t>({2, 3}, x, {{"to", int8}, {"axis", -1}, {"block_size", 3}}), expected);
    EXPECT_EQ(run<std::int8_t>({2, 3}, x, {{"to", int8}, {"axis", 1}, {"block_size", INT64_MAX}}), expected);
    EXPECT_EQ(run<std::int8_t>({2, 3}, x, {{"to", int8}, {"axis", 0}}), expected) << "per axis, the same rows";
}

TEST_P(onnx_computed_scales, along_an_axis) {
    // Columns: 0 to 255, and -102 to 408 in steps of 2.
    EXPECT_EQ(run<std::uint8_t>({2, 2}, {0.F, -102.F, 255.F, 408.F}, {{"axis", 1}}),
            (unsigned8 {{0, 0, 255, 255}, {1, 2}, {0, 51}}));
}

TEST_P(onnx_computed_scales, in_blocks_with_a_short_last_one) {
    // By 7: 7 / 7, 14 / 7, 3.5 / 7, and 1 / 2 is a tie. The first element is in the low bits.
    const std::vector<onnx::attribute> blocks = {{"to", int4}, {"axis", 0}, {"block_size", 2}, {"scale_type", float16}};
    EXPECT_EQ((run<bits8, bits16>({5}, std::vector<float> {7, -3, 14, 1, 3.5F}, blocks)),
            (results<bits8, bits16> {{0xD7, 0x07, 0xF7}, {0x3C00, 0x4000, 0x3800}}));
    // Of the first axis: columns of 2 and 1 rows.
    EXPECT_EQ(run<std::int8_t>(
                      {3, 2}, {127.F, 1.F, -1.F, 254.F, 3.F, 63.5F}, {{"to", int8}, {"axis", 0}, {"block_size", 2}}),
            (signed8 {{127, 0, -1, 127, 127, 127}, {1, 2, 3.F / 127, 0.5F}}));
}

TEST_P(onnx_computed_scales, of_uint4_have_zero_points_of_4_bits) {
    // 15 / 15 and 30 / 15: zero points 5 and 0.
    EXPECT_EQ(run<bits8>({2, 2}, {-5.F, 10.F, 0.F, 30.F}, {{"to", uint4}, {"axis", -1}, {"block_size", 2}}).y,
            (std::vector<bits8> {0xF0, 0xF0}));
    EXPECT_EQ(run<bits8>({2, 2}, {-5.F, 10.F, 0.F, 30.F}, {{"to", uint4}, {"axis", 0}}).zero_points[0], 0x05);
}

// The zero points of symmetric scales are written, too, and only they: run() looks at the bits beyond.
TEST_P(onnx_computed_scales, of_packed_elements_write_these_alone) {
    for (const auto type : {int4, float4e2m1, float6e2m3, float6e3m2})
        for (std::int64_t count = 1; count <= 9; ++count) {
            // The highest code by 1, as 1 is highest * scale.
            const std::vector<float> x(static_cast<std::size_t>(count), 1);
            const std::size_t bits = type == int4 || type == float4e2m1 ? 4 : 6;
            std::vector<bits8> y((x.size() * bits + 7) / 8, 0xff);
            for (std::size_t i = 0; i < x.size(); ++i) // 0111 and 011111
                y[(i * bits + bits - 1) / 8] &= static_cast<bits8>(~(1 << (i * bits + bits - 1) % 8));
            EXPECT_EQ(run<bits8>({count}, x, {{"to", type}, {"axis", 0}}).y, y) << onnx::name_of(type) << " " << count;
        }
    // Zero points of asymmetric ones: 15 / 15 each, 5 steps below 0, and 1 element of 2.
    EXPECT_EQ(run<bits8>({1, 2}, {-5.F, 10.F}, {{"to", uint4}, {"axis", 0}}).zero_points, (std::vector<bits8> {0xF5}));
    EXPECT_EQ(run<bits8>({1, 2}, {-5.F, 10.F}, {{"to", int4}, {"axis", 0}, {"symmetric", 0}}).zero_points,
            (std::vector<bits8> {0xFD})); // -8 + 5
    EXPECT_EQ(run<bits8>({0, 1}, std::vector<float>(), {{"to", int4}, {"axis", 1}, {"symmetric", 0}}).zero_points,
            (std::vector<bits8> {0xF8}));
}

TEST_P(onnx_computed_scales, of_float8) {
    // By 448 and 57344, the largest numbers. bfloat16 1 and 2 are 0x3F80 and 0x4000.
    EXPECT_EQ((run<bits8, bits16>(
                      {3}, std::vector<float> {448, -1, 0.5F}, {{"to", float8e4m3fn}, {"scale_type", bfloat16}})),
            (results<bits8, bits16> {{0x7E, 0xB8, 0x30}, {0x3F80}}));
    EXPECT_EQ(
            (run<bits8, bits16>({2}, std::vector<float> {114688, -2}, {{"to", float8e5m2}, {"scale_type", bfloat16}})),
            (results<bits8, bits16> {{0x7B, 0xBC}, {0x4000}}));
}

TEST_P(onnx_computed_scales, of_16_bit_x) {
    EXPECT_EQ(run<std::uint8_t>({2}, std::vector<bits16> {0x8000, 0x5BF8}, {}, float16),
            (unsigned8 {{0, 255}, {1}, {0}}));
    EXPECT_EQ(run<std::uint8_t>({2}, std::vector<bits16> {0, 0x437F}, {}, bfloat16), (unsigned8 {{0, 255}, {1}, {0}}));
}

TEST_P(onnx_computed_scales, of_an_x_without_elements_are_those_of_zeros) {
    const std::vector<float> none;
    EXPECT_EQ(run<std::uint8_t>({0}, none, {}), (unsigned8 {{}, {1}, {0}}));
    EXPECT_EQ(run<std::uint8_t>({0, 3}, none, {{"axis", 1}}), (unsigned8 {{}, {1, 1, 1}, {0, 0, 0}}));
    EXPECT_EQ(run<std::int8_t>({0, 2}, none, {{"axis", 1}, {"to", int8}, {"symmetric", 0}}),
            (signed8 {{}, {1, 1}, {-128, -128}}));
    EXPECT_EQ(run<std::int8_t>({0, 2}, none, {{"axis", 1}, {"to", int8}}), (signed8 {{}, {1, 1}}));
    EXPECT_EQ(run<std::int8_t>({2, 0}, none, {{"axis", 1}, {"block_size", 4}, {"to", int8}}), (signed8 {}));
    EXPECT_EQ(run<std::int8_t>({0, 2}, none, {{"axis", 0}, {"to", int8}}), (signed8 {}));
    EXPECT_EQ((run<bits8, bits8>({2, 0}, none, {{"axis", 0}, {"to", float4e2m1}, {"scale_type", float8e8m0}})),
            (results<bits8, bits8> {{}, {0, 0}})); // 2^-127
}

TEST_P(onnx_computed_scales, of_more_dims_than_a_statement_has) {
    dims extents(14, 1);
    extents[3] = 2;
    extents[13] = 3;
    EXPECT_EQ(run<std::int8_t>(extents, std::vector<float> {1, -2, 254, 127, 0, 5},
                      {{"to", int8}, {"axis", -1}, {"block_size", 3}}),
            (signed8 {{0, -1, 127, 127, 0, 5}, {2, 1}}));
}

TEST_P(onnx_computed_scales, need_their_buffers) {
    const auto op =
            onnx::prepare(dynamic_quantize_linear({float32, {2, 2}}, {{"to", int8}, {"axis", 0}}), GetParam().forced());
    const std::vector<float> x(4, 1);
    std::vector<float> scales(2, 77);
    std::vector<std::int8_t> y(4, 77);
    const std::pair<onnx::arguments, std::string> lacking[] = {
            {{nullptr, nullptr, nullptr, y.data(), scales.data()}, "x"},
            {{x.data(), nullptr, nullptr, nullptr, scales.data()}, "y"},
            {{x.data(), nullptr, nullptr, y.data(), nullptr}, "y_scale"}};
    for (const auto &[args, name] : lacking)
        try {
            op.run(args);
            ADD_FAILURE() << name;
        } catch (const error &e) {
            EXPECT_EQ(e.what(),
                    "node 'q1' (dynquant.DynamicQuantizeLinear, opset 1): " + name
                            + ": expected a buffer, given a null pointer");
        }
    EXPECT_EQ(scales, std::vector<float>(2, 77));
    EXPECT_EQ(y, std::vector<std::int8_t>(4, 77));
    op.run({x.data(), nullptr, nullptr, y.data(), scales.data()}); // no zero points
    EXPECT_EQ(y, std::vector<std::int8_t>(4, 127));
}

TEST_P(onnx_computed_scales, by_rule) {
    using bytes8 = results<bits8, bits8>;
    const auto to_powers = [&](const char *rule, const std::vector<float> &x) {
        return run<bits8, bits8>({4}, x,
                {{"to", float4e2m1}, {"axis", 0}, {"block_size", 4}, {"scale_type", float8e8m0},
                        text_attribute("rule", rule)});
    };
    EXPECT_EQ(to_powers("mx_floor", {7, 3, -1.5F, 0.25F}), (bytes8 {{0x57, 0x0B}, {127}}));
    EXPECT_EQ(to_powers("mx_ceil", {7, 4, -3, 1}), (bytes8 {{0x46, 0x1B}, {128}}));
    EXPECT_EQ(to_powers("", {1, std::numeric_limits<float>::quiet_NaN(), 0, 0}), (bytes8 {{0x77, 0x77}, {0xFF}}));
    EXPECT_EQ((run<bits8, bits8>({2}, std::vector<float> {12, -3},
                      {{"to", float4e2m1}, {"scale_type", float8e4m3fn}, text_attribute("rule", "nvfp4")})),
            (bytes8 {{0xB7}, {0x40}}));
}

INSTANTIATE_TEST_SUITE_P(every_kernel, onnx_computed_scales, testing::ValuesIn(universal_variants()),
        [](const auto &tested) { return tested.param.name(); });

} // namespace
} // namespace dynquant::test
