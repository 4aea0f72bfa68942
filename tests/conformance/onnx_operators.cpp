// ONNX's operators give the bits of y that are worked out by hand, for rows, blocks and types of scales. Their other
// clauses are those of the statements that onnx_lowering.cpp and onnx_numerics*.cpp test.
#include "support/onnx.hpp"
#include "support/variants.hpp"

namespace dynquant::test {
namespace {

using namespace tensor_proto;

class onnx_operators : public testing::TestWithParam<variant> {
  protected:
    /// The `count` elements of y, from buffers of the node's types.
    template <typename Y, typename X, typename Scale, typename ZeroPoint = std::uint8_t>
    std::vector<Y> run(const onnx::node &n, const std::vector<X> &x, const std::vector<Scale> &scale,
            const std::vector<ZeroPoint> &zero_point = {}) const {
        std::vector<Y> y(x.size());
        onnx::prepare(n, GetParam().forced()).run({x.data(), scale.data(), zero_point.data(), y.data()});
        return y;
    }
};

using u8s = std::vector<std::uint8_t>;
using u16s = std::vector<std::uint16_t>;
using floats = std::vector<float>;

TEST_P(onnx_operators, each_row_or_block_has_its_scale) {
    const floats x = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(run<std::uint8_t>(
                      quantize_linear(13, {{float32, {2, 3}}, {float32, {2}}}, {{"axis", -2}}), x, floats {1, 0.5F}),
            (u8s {1, 2, 3, 8, 10, 12}));
    // Blocks of two and a short one of one.
    EXPECT_EQ(run<std::uint8_t>(
                      quantize_linear(21, {{float32, {2, 3}}, {float32, {2, 2}}, {uint8, {2, 2}}}, {{"block_size", 2}}),
                      x, floats {1, 0.5F, 0.25F, 2}, u8s {0, 10, 20, 30}),
            (u8s {1, 2, 16, 36, 40, 33}));
    EXPECT_EQ(run<float>(dequantize_linear(21, {{uint8, {3, 2}}, {float32, {2, 2}}}, {{"block_size", 2}, {"axis", 0}}),
                      u8s {1, 2, 3, 4, 5, 6}, floats {1, 10, 100, 1000}),
            (floats {1, 20, 3, 40, 500, 6000}));
}

TEST_P(onnx_operators, scales_may_be_powers_of_two) {
    // float8e8m0: 2^(bits - 127).
    EXPECT_EQ(run<std::uint8_t>(quantize_linear(24, {{float32, {3}}, {float8e8m0, {}}}), floats {1, 3, 5}, u8s {128}),
            (u8s {0, 2, 2}));
    EXPECT_EQ(run<float>(dequantize_linear(24, {{uint8, {2}}, {float8e8m0, {}}}, {{"output_dtype", float32}}),
                      u8s {3, 4}, u8s {125}),
            (floats {0.75F, 1}));
}

TEST_P(onnx_operators, dequantized_y_is_of_output_dtype) {
    const auto n = dequantize_linear(23, {{uint8, {2}}, {float32, {}}, {uint8, {}}}, {{"output_dtype", float16}});
    EXPECT_EQ(run<std::uint16_t>(n, u8s {4, 1}, floats {0.5F}, u8s {2}), (u16s {0x3c00, 0xb800})); // 1, -0.5
}

TEST_P(onnx_operators, quarks_go_to_wide_types) {
    const floats x = {1, 1e6F, -1e6F};
    EXPECT_EQ(run<std::int32_t>(quark("ExtendedQuantizeLinear", {{float32, {3}}, {float32, {}}, {int32, {}}}), x,
                      floats {0.5F}, std::vector<std::int32_t> {7}),
            (std::vector<std::int32_t> {9, 2'000'007, -1'999'993}));
    EXPECT_EQ(run<std::uint16_t>(quark("ExtendedQuantizeLinear", {{float32, {3}}, {float32, {}}, {float16, {}}}), x,
                      floats {1}, u16s {0x3c00}),
            (u16s {0x4000, 0x7bff, 0xfbff}))
            << "1 / 1 + 1, and the largest";
    EXPECT_EQ(run<float>(quark("ExtendedDequantizeLinear", {{bfloat16, {2}}, {float32, {}}, {bfloat16, {}}}),
                      u16s {0x3f80, 0x4000}, floats {4}, u16s {0x3f80}),
            (floats {0, 4}))
            << "(1 - 1) * 4 and (2 - 1) * 4";
}

INSTANTIATE_TEST_SUITE_P(every_kernel, onnx_operators, testing::ValuesIn(universal_variants()),
        [](const auto &tested) { return tested.param.name(); });

} // namespace
} // namespace dynquant::test
