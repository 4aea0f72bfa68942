// No kernel reads or writes beyond its buffers, at any alignment.
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace dynquant::test {
namespace {

struct bounds_case {
    direction dir;
    data_type integer;
    bool per_element; // a parameter for each element
    data_type real = data_type::f32;
};

class bounds : public testing::TestWithParam<bounds_case> {
  protected:
    static sample of_size(std::int64_t size) { return of_extents({size}, {GetParam().per_element ? 1 : size}); }

    /// Rows are `gap` elements apart.
    static sample of_extents(
            const dims &extents, const dims &block, parameters kind = parameters::fast, std::int64_t gap = 0) {
        const auto [dir, integer, per_element, real] = GetParam();
        auto q = statement_of(dir, real, integer, extents, block, data_type::s8);
        if (gap > 0) q.src.strides = q.dst.strides = {extents.back() + gap, 1};
        random_source random(static_cast<std::uint64_t>(extents.back()));
        return random_sample(random, q, kind);
    }
    static placement misaligned(guarded_buffer::place where, std::size_t real, std::size_t integer) {
        const bool quantizing = GetParam().dir == direction::quantize;
        return {where, quantizing ? real : integer, quantizing ? integer : real};
    }

    /// Integers begin at each byte of a cache line, half of them behind the page in front, and reals at each multiple
    /// of their size. `phase` varies which of them meet.
    static void expect_right_at_every_alignment(const sample &s, std::size_t phase = 0) {
        std::vector<operation> operations;
        for (const auto &v : variants_for(s))
            operations.push_back(prepare(s.q, v.forced()));
        for (std::size_t shift = 0; shift < 64; ++shift) {
            const bool in_front = phase > 0 ? shift % 2 == 0 : shift < 32;
            const auto where = in_front ? guarded_buffer::place::at_front : guarded_buffer::place::at_back;
            guarded_sample guarded(s, misaligned(where, (shift + phase) % 16 * sizeof(float), shift));
            for (const auto &op : operations)
                ASSERT_TRUE(guarded.computed_right_by(op)) << op.info().isa << ", shift " << shift;
        }
    }
};

TEST_P(bounds, hold_for_every_size_and_alignment) {
    for (std::int64_t size = 1; size <= 200; ++size)
        ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(of_size(size), static_cast<std::size_t>(size)));
}

TEST_P(bounds, hold_for_rows_of_every_alignment) { // short rows are joined, long rows overrun their ends
    for (const std::int64_t inner : {3, 8, 16, 17, 21, 31, 64, 65, 100})
        ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(of_extents({2, 20, inner}, {2, 1, inner})));
}

/// Dense rows with a parameter each run over their ends into the next row, except for the last ones, if all parameters
/// are in the guard. Rows with gaps never do.
TEST_P(bounds, hold_for_the_last_of_many_short_rows) {
    for (const std::int64_t inner :
            {5, 8, 9, 15, 16, 17, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 81, 100, 128, 147})
        for (const std::int64_t gap : {0, 1, 40})
            for (const auto where : {guarded_buffer::place::at_front, guarded_buffer::place::at_back}) {
                const auto s = of_extents({70, inner}, {1, inner}, parameters::tame, gap);
                guarded_sample guarded(s, misaligned(where, 0, 0));
                for (const auto &v : variants_for(s))
                    ASSERT_TRUE(guarded.computed_right_by(prepare(s.q, v.forced()))) << v << ", gap " << gap;
            }
}

TEST_P(bounds, hold_for_rows_in_pairs_at_every_alignment) { // the rows share parameters, and their length is a multiple
                                                            // of the lanes
    for (const std::int64_t channels : {544, 1072})
        ASSERT_NO_FATAL_FAILURE(expect_right_at_every_alignment(of_extents({5, channels}, {5, 1})));
}

TEST_P(bounds, hold_next_to_pages_without_access) {
    for (std::int64_t size = 1; size <= 200; ++size)
        ASSERT_TRUE(computed_right(of_size(size), universal_variants()));
    for (const std::int64_t size : {511, 512, 513, 4095, 4096, 4097, 65537, 131071})
        ASSERT_TRUE(computed_right(of_size(size), universal_variants()));
}

INSTANTIATE_TEST_SUITE_P(cases, bounds,
        testing::Values(bounds_case {direction::quantize, data_type::u8, false},
                bounds_case {direction::quantize, data_type::s8, true},
                bounds_case {direction::dequantize, data_type::u8, true},
                bounds_case {direction::dequantize, data_type::s8, false},
                bounds_case {direction::quantize, data_type::s4, true, data_type::bf16},
                bounds_case {direction::quantize, data_type::u4, false},
                bounds_case {direction::dequantize, data_type::u4, false, data_type::f16},
                bounds_case {direction::dequantize, data_type::s4, true, data_type::bf16}),
        [](const auto &value) {
            return std::string(to_string(value.param.dir)) + "_" + to_string(value.param.integer)
                    + (value.param.real == data_type::f32 ? "" : std::string("_") + to_string(value.param.real))
                    + (value.param.per_element ? "_parameter_per_element" : "_parameter_shared");
        });

} // namespace
} // namespace dynquant::test
