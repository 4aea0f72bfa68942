// Lookup in a table of bytes is right on each instruction set: for each value, length, alignment and thread count.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "layers/epilogue/lookup/lookup.hpp"
#include "support/guarded_buffer.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::lookup {
namespace {

using test::guarded_buffer;

/// The functions that this processor can run.
std::vector<test::tested<look_up_function>> methods() {
    return test::runnable_functions(look_up_table);
}

/// A permutation that differs from its inverse. No two neighbours are equal.
constexpr std::uint8_t value_of(std::size_t x) {
    return static_cast<std::uint8_t>(x * 167 + 41);
}

table some_table() {
    table values;
    for (std::size_t x = 0; x < values.size(); ++x)
        values[x] = value_of(x);
    return values;
}

std::uint8_t source(std::size_t i) {
    return static_cast<std::uint8_t>(i * 89 + 5);
}

std::uint8_t *bytes_of(const guarded_buffer &buffer) {
    return reinterpret_cast<std::uint8_t *>(buffer.data());
}

void fill(const guarded_buffer &buffer) {
    for (std::size_t i = 0; i < buffer.size(); ++i)
        bytes_of(buffer)[i] = source(i);
}

testing::AssertionResult is_looked_up(const guarded_buffer &dst) {
    for (std::size_t i = 0; i < dst.size(); ++i)
        if (const auto given = bytes_of(dst)[i], expected = value_of(source(i)); given != expected)
            return testing::AssertionFailure() << "of " << dst.size() << " bytes, byte " << i << ": expected "
                                               << int {expected} << ", given " << int {given};
    if (!dst.intact()) return testing::AssertionFailure() << "wrote beyond " << dst.size() << " bytes";
    return testing::AssertionSuccess();
}

class lookup_by : public testing::TestWithParam<test::tested<look_up_function>> {
  protected:
    void run(const std::uint8_t *src, std::uint8_t *dst, std::size_t count, int threads = 1) const {
        look_up(GetParam().code, some_table(), src, dst, static_cast<std::int64_t>(count), threads);
    }
};

// More than twice the bytes that any instruction set takes at once.
constexpr std::size_t longest = 600;

TEST_P(lookup_by, every_byte_at_every_place_of_a_vector) {
    for (std::size_t shift = 0; shift < 256; ++shift) {
        std::vector<std::uint8_t> src(longest), dst(longest), expected(longest);
        for (std::size_t i = 0; i < longest; ++i) {
            src[i] = static_cast<std::uint8_t>(i + shift);
            expected[i] = value_of(src[i]);
        }
        run(src.data(), dst.data(), longest);
        EXPECT_EQ(dst, expected) << shift;
    }
}

TEST_P(lookup_by, every_single_value_of_a_table) {
    std::vector<std::uint8_t> src(longest), dst(longest);
    for (std::size_t i = 0; i < longest; ++i)
        src[i] = static_cast<std::uint8_t>(i);
    for (std::size_t x = 0; x < 256; ++x) {
        table values = {};
        values[x] = 0xff;
        look_up(GetParam().code, values, src.data(), dst.data(), longest, 1);
        for (std::size_t i = 0; i < longest; ++i)
            ASSERT_EQ(dst[i], i % 256 == x ? 0xff : 0) << "value " << x << ", place " << i;
    }
}

TEST_P(lookup_by, every_length_and_nothing_beyond_it) {
    for (std::size_t count = 0; count <= longest; ++count)
        for (const auto where : {guarded_buffer::place::at_front, guarded_buffer::place::at_back}) {
            const guarded_buffer src(count, where), dst(count, where);
            fill(src);
            run(bytes_of(src), bytes_of(dst), count);
            EXPECT_TRUE(is_looked_up(dst));
        }
}

TEST_P(lookup_by, every_alignment) {
    for (std::size_t src_offset = 0; src_offset < 64; src_offset += 7)
        for (std::size_t dst_offset = 0; dst_offset < 64; ++dst_offset)
            for (const std::size_t count : {63U, 64U, 130U, 513U}) {
                const guarded_buffer src(count, guarded_buffer::place::at_front, src_offset);
                const guarded_buffer dst(count, guarded_buffer::place::at_front, dst_offset);
                fill(src);
                run(bytes_of(src), bytes_of(dst), count);
                EXPECT_TRUE(is_looked_up(dst)) << src_offset << ' ' << dst_offset;
            }
}

TEST_P(lookup_by, in_place) {
    for (std::size_t count = 0; count <= longest; ++count) {
        const guarded_buffer bytes(count, guarded_buffer::place::at_front, count % 64);
        fill(bytes);
        run(bytes_of(bytes), bytes_of(bytes), count);
        EXPECT_TRUE(is_looked_up(bytes));
    }
}

TEST_P(lookup_by, every_number_of_threads) {
    constexpr std::size_t many = 1'000'003;
    for (const int threads : {1, 2, 3, 8, 0}) {
        const guarded_buffer bytes(many, guarded_buffer::place::at_back);
        fill(bytes);
        run(bytes_of(bytes), bytes_of(bytes), many, threads);
        EXPECT_TRUE(is_looked_up(bytes)) << threads;
    }
}

INSTANTIATE_TEST_SUITE_P(
        isa, lookup_by, testing::ValuesIn(methods()), [](const auto &tested) { return tested.param.name; });

TEST(lookup, takes_no_more_than_is_there) {
    for (const auto *c = look_up_table;; ++c) { // each is taken where no more is there
        EXPECT_EQ(function_for(c->needs), *c->code);
        if (c->needs == targets::scalar) break;
    }
    EXPECT_EQ(function_for(targets::avx512_vbmi & targets::up_to(isa::avx2)), function_for(targets::avx2));
}

} // namespace
} // namespace dynquant::lookup
