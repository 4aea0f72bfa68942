// dqbench's comparison accepts allowed results and reports wrong ones; its timing summarizes as worked out by hand.
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "compare.hpp"
#include "options.hpp"
#include "timing.hpp"

namespace {

using namespace dqbench;
using dynquant::dims;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

statement quantize_statement(const dims &extents, const std::string &dst_layout = "abx") {
    return statement(
            {.dst_layout = layout::parse(dst_layout), .qtype = granularity::per_channel, .prb = {extents, ""}});
}

/// Three channels of two elements: 1.5 / 1, 2 / 1 + 1, ... All results are worked out by hand.
struct dqbench_compare : testing::Test {
    statement s = quantize_statement({2, 3});
    parameters p {{1.0f, 0.5f, 2.0f}, {0, 1, -1}};
    std::vector<float> src {1.5f, 2.0f, nan, -3.0f, 0.25f, 1e9f};
    std::vector<std::int8_t> expected {2, 5, -128, -3, 2, 127};
    guarded_buffer dst {6};

    dqbench_compare() { std::copy(expected.begin(), expected.end(), dst.as<std::int8_t>()); }

    comparison run(const tolerance &allowed = {}) const {
        return compare(s, p, src.data(), expected.data(), {dst, *s.dst_strides}, allowed);
    }
};

TEST_F(dqbench_compare, equal_results_pass) {
    const auto found = run();
    EXPECT_EQ(found.differing, 0);
    EXPECT_EQ(found.informative, 4); // neither -128 nor 127
    EXPECT_TRUE(found.first.empty());
}

TEST_F(dqbench_compare, tells_position_operands_and_results_of_what_differs) {
    dst.as<std::int8_t>()[4] = 3;
    const auto found = run();
    EXPECT_EQ(found.differing, 1);
    ASSERT_EQ(found.first.size(), 1u);
    EXPECT_EQ(found.first[0], "[4][1,1] src:0.25 (0x3e800000) scale:0.5 (0x3f000000) zp:1 expected:2 got:3");
}

TEST(dqbench_compare_parameters, tells_which_scales_and_zero_points_differ) {
    const statement s({.types = {data_type::f32, data_type::f32, data_type::u8, data_type::u8},
            .qtype = granularity::per_channel,
            .prb = {{2, 3}, ""}});
    const parameters expected {{1.0f, nan, 0.0f}, {0, 200, 255}};
    guarded_buffer scales(12), zero_points(3);
    const auto write = [&](std::vector<float> a, std::vector<std::uint8_t> b) {
        std::copy(a.begin(), a.end(), scales.as<float>());
        std::copy(b.begin(), b.end(), zero_points.as<std::uint8_t>());
    };
    write({1.0f, -nan, 0.0f}, {0, 200, 255});
    EXPECT_EQ(compare_parameters(s, expected, scales, zero_points).differing, 0);
    write({1.0f, 2.0f, -0.0f}, {0, 201, 255});
    const auto found = compare_parameters(s, expected, scales, zero_points);
    EXPECT_EQ(found.differing, 3);
    ASSERT_EQ(found.first.size(), 3u);
    EXPECT_EQ(found.first[0], "scale [1] expected:nan (0x7fc00000) got:2 (0x40000000)");
    EXPECT_EQ(found.first[1], "scale [2] expected:0 (0x0) got:-0 (0x80000000)");
    EXPECT_EQ(found.first[2], "zp [1] expected:200 got:201");
}

TEST_F(dqbench_compare, counts_all_and_shows_the_first_five) {
    for (int i = 0; i < 6; ++i)
        dst.as<std::int8_t>()[i] = 77;
    const auto found = run({true, false});
    EXPECT_EQ(found.differing, 6);
    EXPECT_EQ(found.first.size(), 5u);
}

TEST_F(dqbench_compare, strict_does_not_forgive_ties) {
    dst.as<std::int8_t>()[0] = 1; // 1.5 may not be rounded down
    EXPECT_EQ(run().differing, 1);
    EXPECT_EQ(run({true, false}).differing, 0);
}

TEST_F(dqbench_compare, only_the_onednn_kernel_may_turn_nan_into_something_else) {
    dst.as<std::int8_t>()[2] = 127;
    EXPECT_EQ(run({true, false}).differing, 1);
    EXPECT_EQ(run({true, true}).differing, 0);
}

TEST(dqbench_compare_any, forgives_one_next_to_a_tie_alone) {
    EXPECT_TRUE(any_allows(1.5f, 1.0f, 0, 2, 1));
    EXPECT_TRUE(any_allows(-0.5f, 1.0f, 0, 0, -1));
    EXPECT_FALSE(any_allows(1.5f, 1.0f, 0, 2, 0));                      // by more than 1
    EXPECT_FALSE(any_allows(1.5f, 1.0f, 0, 2, 2));                      // nothing to forgive
    EXPECT_TRUE(any_allows(std::nextafter(1.5f, 2.0f), 1.0f, 0, 2, 1)); // 2^-23 away
    EXPECT_FALSE(any_allows(1.501f, 1.0f, 0, 2, 1));
    EXPECT_FALSE(any_allows(1.25f, 1.0f, 0, 1, 2));
    EXPECT_FALSE(any_allows(nan, 1.0f, 0, -128, -127));
}

TEST(dqbench_compare_any, is_strict_beyond_moderate_parameters) {
    EXPECT_TRUE(any_allows(1.5f * 0x1p-75f, 0x1p-75f, 0, 2, 1));
    EXPECT_FALSE(any_allows(1.5f * 0x1p-76f, 0x1p-76f, 0, 2, 1));
    EXPECT_FALSE(any_allows(1.5f * 0x1p76f, -0x1p76f, 0, -2, -1));
    EXPECT_TRUE(any_allows(1.5f - 1048575.0f, 1.0f, 1048575, 2, 1));
    EXPECT_FALSE(any_allows(1.5f - 1048576.0f, 1.0f, 1048576, 2, 1));
}

TEST(dqbench_compare_dequantize, compares_bits_and_takes_any_nan) {
    const statement s({.op = op_kind::DynamicDequantize,
            .types = {data_type::s8, data_type::f32, {}, data_type::f32},
            .prb = {{3}, ""}});
    const parameters p {{1.0f}, {}};
    const std::vector<std::int8_t> src {0, 1, 2};
    const std::vector<float> expected {0.0f, nan, 2.0f};
    guarded_buffer dst(12);
    const auto differing = [&](float a, float b, float d) {
        const float values[] = {a, b, d};
        std::copy(std::begin(values), std::end(values), dst.as<float>());
        return compare(s, p, src.data(), expected.data(), {dst, {1}}, {true, true}).differing;
    };
    EXPECT_EQ(differing(0.0f, -nan, 2.0f), 0);
    EXPECT_EQ(differing(-0.0f, nan, 2.0f), 1);
    EXPECT_EQ(differing(0.0f, 1.0f, 2.0f), 1);
    EXPECT_EQ(differing(0.0f, nan, std::nextafter(2.0f, 3.0f)), 1);
}

TEST(dqbench_stray_write, finds_bytes_between_before_and_behind_elements) {
    const auto s = quantize_statement({2, 3}, "strides:8x2"); // offsets 0 2 4 8 10 12
    for (const auto offset : {-1, 1, 3, 5, 6, 7, 9, 11, 13}) {
        guarded_buffer dst(13);
        const computed got {dst, *s.dst_strides};
        EXPECT_EQ(stray_write(s, got), std::nullopt);
        for (const auto element : {0, 2, 4, 8, 10, 12})
            dst.data()[element] = std::byte {1};
        EXPECT_EQ(stray_write(s, got), std::nullopt);
        dst.data()[offset] = std::byte {1};
        EXPECT_NE(stray_write(s, got), std::nullopt) << offset;
    }
}

TEST(dqbench_for_each_element, walks_in_row_major_order) {
    const statement s({.src_layout = layout::parse("strides:1x2"),
            .qtype = granularity::per_channel,
            .axis = -2,
            .prb = {{2, 3}, ""}});
    std::vector<std::int64_t> src, dst, channels;
    for_each_element(s, {10, 3}, [&](const element &e) {
        EXPECT_EQ(e.index, static_cast<std::int64_t>(src.size()));
        src.push_back(e.src);
        dst.push_back(e.dst);
        channels.push_back(e.channel);
    });
    EXPECT_EQ(src, (std::vector<std::int64_t> {0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(dst, (std::vector<std::int64_t> {0, 3, 6, 10, 13, 16}));
    EXPECT_EQ(channels, (std::vector<std::int64_t> {0, 0, 0, 1, 1, 1}));
}

TEST(dqbench_for_each_element, scalar_has_one_and_zero_volume_none) {
    const auto count = [](const dims &extents) {
        int elements = 0;
        for_each_element(
                statement({.prb = {extents, ""}}), dims(extents.size(), 1), [&](const element &) { ++elements; });
        return elements;
    };
    EXPECT_EQ(count({}), 1);
    EXPECT_EQ(count({3, 0}), 0);
}

TEST(dqbench_timing, summarizes_by_hand) {
    const auto odd = summarize({5, 1, 3});
    EXPECT_EQ(odd.least, 1);
    EXPECT_EQ(odd.median, 3);
    EXPECT_EQ(odd.average, 3);
    EXPECT_EQ(odd.most, 5);
    EXPECT_EQ(summarize({8, 1, 2, 5}).median, 3.5);
    // The spread is between the quarters.
    EXPECT_EQ(summarize({7}).quartile_range, std::nullopt);
    EXPECT_EQ(summarize({50, 10, 30, 20, 40}).quartile_range, 20); // 40 - 20
    EXPECT_EQ(summarize({1, 2, 3, 4}).quartile_range, 1.5);        // 3.25 - 1.75
}

/// Logs its calls.
struct noting : contestant {
    noting(std::string &log, char name)
        : log_(log)
        , name_(name) {}
    void execute() override { log_ += name_; }
    void park_threads() override { log_ += '.'; }

    std::string &log_;
    char name_;
};

TEST(dqbench_timing, contestants_take_turns_for_the_given_rounds) {
    std::string log;
    noting a(log, 'a'), b(log, 'b');
    const auto timings = measure({&a, &b}, {3, 1});
    EXPECT_EQ(timings.size(), 2u);
    EXPECT_EQ(log,
            "aa.bb."
            "aa.bb.aa.bb.aa.bb."); // warm-up, then three rounds: each has a call that fills the caches, then the sample
}

TEST(dqbench_timing, something_may_happen_before_each_call) {
    std::string log;
    noting a(log, 'a'), b(log, 'b');
    measure({&a, &b}, {2, 1}, [&] { log += '!'; });
    EXPECT_EQ(log, "aa.bb.!a.!b.!a.!b.");
    log.clear();
    measure({&a}, {0, 1}, [&] { log += '!'; }); // rounds until a millisecond is over
    EXPECT_EQ(log.substr(0, 12), "aa.!a.!a.!a.");
    EXPECT_EQ(log.find("aa", 3), std::string::npos);
}

} // namespace
