// Compiled partitions execute as worked out by hand, for all layouts and from many threads.
#include <thread>

#include "support/graph.hpp"

namespace dynquant::test {
namespace {

// src / scales + zps, per channel of two: (1, 2) / (0.5, 4) + (10, -3) = (12, -2.5), and so on.
struct sample {
    dynamic_op op {.src = f32(0, {3, 2}), .scales = f32(1, {2}), .zps = s32(2, {2}), .dst = s8(3, {3, 2})};
    std::vector<float> src {1, 2, -1, 30, 100, 14}, scales {0.5f, 4};
    std::vector<std::int32_t> zps {10, -3};
    std::vector<std::int8_t> expected {12, -2, 8, 4, 127, 0}; // -2.5 -> -2, 4.5 -> 4, 210 -> 127, 0.5 -> 0

    dg::compiled_partition compile() const { return partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu()); }
    std::vector<dg::tensor> tensors() {
        return {tensor_of(op.src, src), tensor_of(op.scales, scales), tensor_of(*op.zps, zps)};
    }
};

/// What an execution writes into the first `size` elements, which are 77 before.
std::vector<std::int8_t> written(const dg::compiled_partition &compiled, const std::vector<dg::tensor> &inputs,
        const lt &dst, std::size_t size = 6) {
    std::vector<std::int8_t> values(size, 77);
    dg::stream stream(cpu());
    compiled.execute(stream, inputs, {tensor_of(dst, values)});
    stream.wait();
    return values;
}

TEST(execute, matches_by_position_in_the_lists_of_compile) {
    sample s;
    const auto unrelated = f32(40, {1});
    // zps, an unrelated tensor, src, scales; an unrelated tensor, dst
    const auto compiled = partition_of(s.op.make())
                                  .compile({*s.op.zps, unrelated, s.op.src, s.op.scales}, {unrelated, s.op.dst}, cpu());
    std::vector<float> other {0};
    std::vector<std::int8_t> dst(6, 77);
    const auto in = s.tensors();
    dg::stream stream(cpu());
    compiled.execute(stream, {in[2], tensor_of(unrelated, other), in[0], in[1]},
            {tensor_of(unrelated, other), tensor_of(s.op.dst, dst)});
    EXPECT_EQ(dst, s.expected);
    EXPECT_EQ(other, std::vector<float> {0});
}

TEST(execute, takes_long_lists) {
    sample s;
    auto logical = s.op.inputs();
    auto in = s.tensors();
    for (std::size_t id = 100; id < 120; ++id) {
        logical.insert(logical.begin(), f32(id, {1}));
        in.insert(in.begin(), dg::tensor(f32(id, {1}), cpu(), nullptr));
    }
    EXPECT_EQ(written(partition_of(s.op.make()).compile(logical, {s.op.dst}, cpu()), in, s.op.dst), s.expected);
}

TEST(execute, reads_only_the_handles_of_tensors) {
    sample s;
    // Tensors made of other logical tensors, as in a framework with one tensor for each buffer.
    const lt other(9, type::f32);
    EXPECT_EQ(
            written(s.compile(), {tensor_of(other, s.src), tensor_of(other, s.scales), tensor_of(other, s.zps)}, other),
            s.expected);
}

TEST(execute, follows_changed_handles) {
    sample s;
    auto in = s.tensors();
    std::vector<float> other {0, 0, 0, 0, 0, 0};
    in[0].set_data_handle(other.data());
    EXPECT_EQ(written(s.compile(), in, s.op.dst), (std::vector<std::int8_t> {10, -3, 10, -3, 10, -3}));
}

TEST(execute, takes_a_scratchpad_as_newer_onednn_does) {
    sample s;
    std::vector<std::int8_t> dst(6, 77);
    dg::stream stream(cpu());
    s.compile().execute(stream, s.tensors(), {tensor_of(s.op.dst, dst)}, dg::tensor());
    EXPECT_EQ(dst, s.expected);
}

TEST(execute, takes_strided_src_and_dst) {
    // src: columns of a matrix of three rows, padded to four; dst: rows padded to three
    sample s;
    s.op.src = lt(0, type::f32, dims {3, 2}, dims {1, 4});
    s.op.dst = lt(3, type::s8, dims {3, 2}, dims {3, 1});
    s.src = {1, -1, 100, -77, 2, 30, 14, -77};
    EXPECT_EQ(written(s.compile(), s.tensors(), s.op.dst, 9),
            (std::vector<std::int8_t> {12, -2, 77, 8, 4, 77, 127, 0, 77}));
}

TEST(execute, takes_a_broadcast_src) {
    sample s;
    s.op.src = lt(0, type::f32, dims {3, 2}, dims {0, 1});
    s.src = {1, 2};
    EXPECT_EQ(written(s.compile(), s.tensors(), s.op.dst), (std::vector<std::int8_t> {12, -2, 12, -2, 12, -2}));
}

TEST(execute, writes_the_layout_that_compile_chose) {
    sample s;
    s.op.src = lt(0, type::f32, dims {3, 2}, dims {1, 3}); // column by column
    s.op.dst = lt(3, type::s8, layout::any);
    s.src = {1, -1, 100, 2, 30, 14};
    const auto compiled = s.compile();
    const auto final = compiled.query_logical_tensor(3);
    EXPECT_EQ(written(compiled, s.tensors(), final, final.get_mem_size()),
            (std::vector<std::int8_t> {12, 8, 127, -2, 4, 0}));
}

TEST(execute, takes_rank_0) {
    const dynamic_op op {.src = f32(0, {}), .scales = f32(1, {1}), .zps = {}, .dst = u8(3, {}), .qtype = "per_tensor"};
    expect_gives(op, {floats_of({7}), floats_of({2})}, integers_of({4})); // 3.5, a tie
}

TEST(execute, writes_nothing_for_zero_volume) {
    for (const auto &shape : {dims {0, 4}, dims {2, 0}}) {
        const auto channels = shape[1];
        const dynamic_op op {
                .src = f32(0, shape), .scales = f32(1, {channels}), .zps = s8(2, {channels}), .dst = u8(3, shape)};
        const bytes untouched(8, std::byte {0xaa});
        expect_gives(op, {floats_of({1}), floats_of({1, 1, 1, 1}), integers_of({0, 0, 0, 0})}, untouched);
    }
}

TEST(execute, takes_dims_of_any_size_for_zero_volume) {
    constexpr std::int64_t huge = std::int64_t {1} << 62;
    const lt src(0, type::f32, dims {0, huge, huge}, dims {1, 1, 1}),
            dst(3, type::u8, dims {0, huge, huge}, layout::any);
    const dynamic_op op {.src = src, .scales = f32(1, {1}), .zps = {}, .dst = dst, .qtype = "per_tensor"};
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {dst}, cpu());
    dg::stream stream(cpu());
    EXPECT_NO_THROW(compiled.execute(stream, std::vector<dg::tensor>(2), std::vector<dg::tensor>(1)));
}

TEST(execute, may_run_on_many_threads_at_once) {
    // Each thread has different scales, so state that calls share would show.
    constexpr std::int64_t rows = 64, channels = 32;
    constexpr int threads = 8, rounds = 200;
    const dynamic_op op {.src = f32(0, {rows, channels}),
            .scales = f32(1, {channels}),
            .zps = s8(2, {channels}),
            .dst = u8(3, {rows, channels})};
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    std::vector<int> wrong(threads, -1);
    std::vector<std::thread> pool;
    for (int id = 0; id < threads; ++id)
        pool.emplace_back([&, id] {
            const auto step = static_cast<float>(id + 1);
            std::vector<float> src(rows * channels, 12 * step), scales(channels, step);
            std::vector<std::int8_t> zps(channels, static_cast<std::int8_t>(id));
            std::vector<std::uint8_t> dst(rows * channels);
            const std::vector<std::uint8_t> expected(rows * channels, static_cast<std::uint8_t>(12 + id));
            const std::vector<dg::tensor> in {
                    tensor_of(op.src, src), tensor_of(op.scales, scales), tensor_of(*op.zps, zps)};
            const std::vector<dg::tensor> out {tensor_of(op.dst, dst)};
            dg::stream stream(cpu());
            int count = 0;
            for (int round = 0; round < rounds; ++round) {
                std::fill(dst.begin(), dst.end(), std::uint8_t {0});
                compiled.execute(stream, in, out);
                count += dst != expected;
            }
            wrong[static_cast<std::size_t>(id)] = count;
        });
    for (auto &thread : pool)
        thread.join();
    EXPECT_EQ(wrong, std::vector<int>(threads, 0));
}

TEST(compile, may_run_on_many_threads_at_once) {
    const dynamic_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8)};
    const auto partition = partition_of(op.make());
    std::vector<std::int64_t> rows(8, 0);
    std::vector<std::thread> pool;
    for (std::size_t id = 0; id < rows.size(); ++id)
        pool.emplace_back([&, id] {
            const auto count = static_cast<std::int64_t>(id + 1);
            rows[id] = partition.compile({f32(0, {count, 4}), op.scales, *op.zps}, {op.dst}, cpu())
                               .query_logical_tensor(3)
                               .get_dims()[0];
        });
    for (auto &thread : pool)
        thread.join();
    EXPECT_EQ(rows, (std::vector<std::int64_t> {1, 2, 3, 4, 5, 6, 7, 8}));
}

} // namespace
} // namespace dynquant::test
