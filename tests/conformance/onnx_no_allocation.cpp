// run allocates nothing. This is a separate program, because counting_new.cpp replaces operator new.
#include "support/counting_new.hpp"
#include "support/onnx.hpp"

namespace dynquant::test {
namespace {

using namespace tensor_proto;

/// The number of allocations in ten calls. Buffers of a thread may grow in the calls before.
long allocations_of(const onnx::operation &op, const onnx::arguments &args) {
    for (int i = 0; i < 3; ++i)
        op.run(args);
    const long before = allocations();
    for (int i = 0; i < 10; ++i)
        op.run(args);
    return allocations() - before;
}

TEST(onnx_no_allocation, quantize_linear) {
    const auto op = onnx::prepare(quantize_linear(13, {{float32, {4, 64}}, {float32, {64}}}));
    ASSERT_EQ(op.info().kernel, kernel_kind::native);
    const std::vector<float> x(256, 5), scale(64, 2);
    std::vector<std::uint8_t> y(256);
    EXPECT_EQ(allocations_of(op, {x.data(), scale.data(), nullptr, y.data()}), 0);
    EXPECT_EQ(y, std::vector<std::uint8_t>(256, 2)); // 2.5, a tie
}

TEST(onnx_no_allocation, dequantize_linear) {
    const auto op = onnx::prepare(
            dequantize_linear(21, {{int8, {4, 64}}, {float32, {4, 2}}, {int8, {4, 2}}}, {{"block_size", 32}}));
    ASSERT_EQ(op.info().kernel, kernel_kind::native);
    const std::vector<std::int8_t> x(256, -3), zero_point(8, 1);
    const std::vector<float> scale(8, 0.5F);
    std::vector<float> y(256);
    EXPECT_EQ(allocations_of(op, {x.data(), scale.data(), zero_point.data(), y.data()}), 0);
    EXPECT_EQ(y, std::vector<float>(256, -2));
}

TEST(onnx_no_allocation, dynamic_quantize_linear) {
    const std::pair<std::vector<onnx::attribute>, float> cases[] = {
            {{}, 1}, {{{"axis", 0}}, 1}, {{{"axis", 1}, {"block_size", 32}, {"to", int8}}, 255.F / 127}};
    for (const auto &[attributes, scale] : cases) {
        const auto op = onnx::prepare(dynamic_quantize_linear({float32, {4, 64}}, attributes));
        ASSERT_EQ(op.info().kernel, kernel_kind::native);
        const std::vector<float> x(256, 255);
        std::vector<float> y_scale(8, 77);
        std::vector<std::uint8_t> y(256), y_zero_point(8, 77);
        EXPECT_EQ(allocations_of(op, {x.data(), nullptr, nullptr, y.data(), y_scale.data(), y_zero_point.data()}), 0);
        EXPECT_EQ(y_scale.front(), scale);
        EXPECT_EQ(y_zero_point.front(), 0);
    }
}

} // namespace
} // namespace dynquant::test
