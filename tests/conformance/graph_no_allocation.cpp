// execute allocates nothing. A program of its own, as it replaces operator new for all of it.
#include <atomic>
#include <cstdlib>
#include <new>

#include "graph_support.hpp"

namespace {

std::atomic<long> allocations {0};

void *counted(std::size_t size) {
    ++allocations;
    if (void *memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}

void *counted(std::size_t size, std::align_val_t alignment) {
    ++allocations;
    const auto unit = static_cast<std::size_t>(alignment);
    if (void *memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return memory;
    throw std::bad_alloc();
}

} // namespace

void *operator new(std::size_t size) {
    return counted(size);
}
void *operator new[](std::size_t size) {
    return counted(size);
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    return counted(size, alignment);
}
void *operator new[](std::size_t size, std::align_val_t alignment) {
    return counted(size, alignment);
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete[](void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace dynquant::test {
namespace {

/// How often ten calls allocate, after the first ones, in which buffers of a thread may grow.
long allocations_of(const dg::compiled_partition &compiled, const std::vector<dg::tensor> &inputs,
        const std::vector<dg::tensor> &outputs) {
    dg::stream stream(cpu());
    for (int i = 0; i < 3; ++i)
        compiled.execute(stream, inputs, outputs);
    const long before = allocations;
    for (int i = 0; i < 10; ++i)
        compiled.execute(stream, inputs, outputs);
    return allocations - before;
}

TEST(NoAllocation, TheCounterCounts) {
    const long before = allocations;
    const std::vector<int> some(100);
    EXPECT_EQ(allocations - before, 1) << some.size();
}

TEST(NoAllocation, DynamicPerChannel) {
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

TEST(NoAllocation, StaticPerTensor) {
    static_op op {.src = f32(0, {256}), .dst = u8(3, {256}), .qtype = "per_tensor", .scales = {0.5f}, .zps = {}};
    std::vector<float> src(256, 1);
    std::vector<std::uint8_t> dst(256);
    const auto compiled = partition_of(op.make()).compile({op.src}, {op.dst}, cpu());
    EXPECT_EQ(allocations_of(compiled, {tensor_of(op.src, src)}, {tensor_of(op.dst, dst)}), 0);
    EXPECT_EQ(dst, std::vector<std::uint8_t>(256, 2));
}

} // namespace
} // namespace dynquant::test
