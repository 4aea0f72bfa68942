// execute allocates nothing. This is a separate program, because counting_new.cpp replaces operator new.
#include "support/counting_new.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

/// The number of allocations in ten calls. Buffers of a thread may grow in the calls before.
long allocations_of(const dg::compiled_partition &compiled, const std::vector<dg::tensor> &inputs,
        const std::vector<dg::tensor> &outputs) {
    dg::stream stream(cpu());
    for (int i = 0; i < 3; ++i)
        compiled.execute(stream, inputs, outputs);
    const long before = allocations();
    for (int i = 0; i < 10; ++i)
        compiled.execute(stream, inputs, outputs);
    return allocations() - before;
}

TEST(graph_no_allocation, is_measured_by_a_counter_that_counts) {
    const long before = allocations();
    ::operator delete(::operator new(100)); // the compiler may remove a new expression
    EXPECT_EQ(allocations() - before, 1);
}

TEST(graph_no_allocation, in_a_dynamic_op_per_channel) {
    constexpr std::int64_t rows = 4, channels = 64;
    const dynamic_op op {.src = f32(0, {rows, channels}),
            .scales = f32(1, {channels}),
            .zps = s8(2, {channels}),
            .dst = u8(3, {rows, channels})};
    std::vector<float> src(rows * channels, 3), scales(channels, 2);
    std::vector<std::int8_t> zps(channels, 1);
    std::vector<std::uint8_t> dst(rows * channels);
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    EXPECT_EQ(allocations_of(compiled, {tensor_of(op.src, src), tensor_of(op.scales, scales), tensor_of(*op.zps, zps)},
                      {tensor_of(op.dst, dst)}),
            0);
    EXPECT_EQ(dst, std::vector<std::uint8_t>(rows * channels, 2)); // 2.5, a tie
}

TEST(graph_no_allocation, in_a_static_op_per_tensor) {
    static_op op {.src = f32(0, {256}), .dst = u8(3, {256}), .qtype = "per_tensor", .scales = {0.5f}, .zps = {}};
    std::vector<float> src(256, 1);
    std::vector<std::uint8_t> dst(256);
    const auto compiled = partition_of(op.make()).compile({op.src}, {op.dst}, cpu());
    EXPECT_EQ(allocations_of(compiled, {tensor_of(op.src, src)}, {tensor_of(op.dst, dst)}), 0);
    EXPECT_EQ(dst, std::vector<std::uint8_t>(256, 2));
}

} // namespace
} // namespace dynquant::test
