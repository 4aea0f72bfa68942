// The flat loop reads all of src and writes all of dst, and touches nothing beside them.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "dynquant/quantization.hpp"
#include "elements/table.hpp"
#include "flat/flat.hpp"
#include "guarded_buffer.hpp"
#include "targets/features.hpp"

namespace {

using namespace dqbench;
using dynquant::data_type;

/// src and dst of some bytes, all of src 0. Bytes that the loop reads beside src are not 0, and show in dst.
struct buffers_of_loop {
    guarded_buffer src, dst;

    buffers_of_loop(std::int64_t src_bytes, std::int64_t dst_bytes, std::size_t offset)
        : src(src_bytes, offset)
        , dst(dst_bytes, offset) {
        std::memset(src.data(), 0, src.bytes().size());
    }

    bool dst_is_zero() const {
        return std::all_of(dst.bytes().begin(), dst.bytes().end(), [](std::byte b) { return b == std::byte {}; });
    }
};

/// Every instruction set that this processor has.
std::vector<dynquant::isa> sets() {
    std::vector<dynquant::isa> result;
    for (const auto set : {dynquant::isa::scalar, dynquant::isa::avx2, dynquant::isa::avx512})
        if (dynquant::targets::has(dynquant::targets::of_processor(), dynquant::targets::of(set)))
            result.push_back(set);
    return result;
}

TEST(dqbench_flat, writes_all_of_dst_and_nothing_beside_it) {
    using enum data_type;
    for (const auto set : sets())
        for (const auto &[src, dst] : {std::pair {f32, u8}, {u8, f32}, {f32, s32}, {f16, s8}, {s8, bf16}, {f32, s4},
                     {u4, f32}, {f32, u2}, {f32, f6_e2m3}, {f6_e2m3, f16}})
            for (const std::int64_t n : {1, 3, 64, 1027, 500001}) // the last by several tasks
                for (const std::size_t offset : {0U, 3U}) {
                    buffers_of_loop b(dynquant::size_in_bytes(src, n), dynquant::size_in_bytes(dst, n), offset);
                    flat::loop({src, {n}, {1}}, {dst, {n}, {1}}, dynquant::targets::of(set))
                            .run(b.src.data(), b.dst.data());
                    const auto what = testing::Message()
                            << dynquant::to_string(set) << ' ' << dynquant::to_string(src) << " to "
                            << dynquant::to_string(dst) << ", " << n << " elements, offset " << offset;
                    EXPECT_TRUE(b.dst_is_zero()) << what;
                    EXPECT_TRUE(b.dst.guards_intact()) << what;
                }
}

TEST(dqbench_flat, reads_all_of_src) {
    constexpr std::int64_t n = 1024;
    for (const auto set : sets())
        for (const auto &[src, dst] : {std::pair {data_type::f32, data_type::u8}, {data_type::u8, data_type::f32}}) {
            const flat::loop loop({src, {n}, {1}}, {dst, {n}, {1}}, dynquant::targets::of(set));
            buffers_of_loop b(dynquant::size_in_bytes(src, n), dynquant::size_in_bytes(dst, n), 0);
            for (std::size_t i = 0; i < b.src.bytes().size(); ++i) {
                b.src.data()[i] = std::byte {1};
                loop.run(b.src.data(), b.dst.data());
                ASSERT_FALSE(b.dst_is_zero()) << dynquant::to_string(set) << ", byte " << i;
                b.src.data()[i] = std::byte {};
            }
        }
}

TEST(dqbench_flat, reads_repeated_elements_once) {
    constexpr std::int64_t rows = 100, columns = 64;
    for (const auto set : sets())
        for (const auto type : {data_type::f32, data_type::bf16}) {
            buffers_of_loop b(dynquant::size_in_bytes(type, columns), rows * columns, 0);
            const flat::loop loop({type, {rows, columns}, {0, 1}}, {data_type::u8, {rows, columns}, {columns, 1}},
                    dynquant::targets::of(set));
            loop.run(b.src.data(), b.dst.data());
            EXPECT_TRUE(b.dst_is_zero()) << dynquant::to_string(set);
        }
}

} // namespace
