// DYNQUANT_TEST_SAMPLE selects the cases that a sampled test tries.
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/environment.hpp"
#include "support/program.hpp"
#include "support/sampling.hpp"

namespace dynquant::test {
namespace {

std::vector<int> taken_of(int cases) {
    case_sampler sampler;
    std::vector<int> taken;
    for (int i = 0; i < cases; ++i)
        if (sampler.takes()) taken.push_back(i);
    return taken;
}

TEST(case_sampler, takes_each_case_unless_told_otherwise) {
    const scoped_variable unset("DYNQUANT_TEST_SAMPLE", {});
    EXPECT_EQ(taken_of(4), (std::vector {0, 1, 2, 3}));
}

TEST(case_sampler, takes_fewer_where_the_test_says_so) {
    const auto second = [] {
        case_sampler sampler(2);
        sampler.takes();
        return sampler.takes();
    };
    {
        const scoped_variable unset("DYNQUANT_TEST_SAMPLE", {});
        EXPECT_FALSE(second());
    }
    const scoped_variable all("DYNQUANT_TEST_SAMPLE", "1");
    EXPECT_TRUE(second());
}

TEST(case_sampler, takes_the_first_case_of_each_three) {
    const scoped_variable three("DYNQUANT_TEST_SAMPLE", "3");
    EXPECT_EQ(taken_of(8), (std::vector {0, 3, 6}));
}

TEST(case_sampler, meets_each_value_of_nested_loops) {
    const scoped_variable seven("DYNQUANT_TEST_SAMPLE", "7");
    case_sampler sampler;
    std::set<int> outer, inner;
    for (int i = 0; i < 12; ++i)
        for (int j = 0; j < 6; ++j)
            if (sampler.takes()) {
                outer.insert(i);
                inner.insert(j);
            }
    EXPECT_GE(outer.size(), 10U); // 72 cases leave 11
    EXPECT_EQ(inner.size(), 6U);
}

TEST(case_sampler, refuses_what_is_no_count) {
    for (const char *text : {"", "0", "-7", "7x", "seven"}) {
        const scoped_variable variable("DYNQUANT_TEST_SAMPLE", text);
        EXPECT_EQ(message_of<std::invalid_argument>([] { case_sampler(); }),
                "DYNQUANT_TEST_SAMPLE: expected a number from 1 on, given '" + std::string(text) + "'");
    }
}

} // namespace
} // namespace dynquant::test
