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

/// Of eight cases, with the variable set to `text`.
std::vector<int> taken(const std::optional<std::string> &text, case_sampler (*make)()) {
    const scoped_variable variable("DYNQUANT_TEST_SAMPLE", text);
    auto sampler = make();
    std::vector<int> result;
    for (int i = 0; i < 8; ++i)
        if (sampler.takes()) result.push_back(i);
    return result;
}

TEST(case_sampler, takes_the_first_case_of_each_n) {
    const auto usual = [] { return case_sampler(); };
    const auto fewer = [] { return case_sampler(2); };
    const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(taken({}, usual), all);
    EXPECT_EQ(taken("3", usual), (std::vector {0, 3, 6}));
    EXPECT_EQ(taken({}, fewer), (std::vector {0, 2, 4, 6}));
    EXPECT_EQ(taken("1", fewer), all);
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
