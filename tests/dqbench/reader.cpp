// dqbench reads its command line and batch files, and names the place of errors.
#include "dqbench_support.hpp"

namespace {

using namespace dqbench;
using namespace dqbench::tests;

const std::string plain = "--op=DynamicQuantize --dt=f32:f32:undef:s8 ";
const std::string axb = plain + "--stag=axb ";

TEST_F(dqbench_reader, options_hold_for_the_problems_after_them) {
    EXPECT_EQ(read({"3", "--stag=axb", "4", "5", "--reset", "6"}),
            (lines {plain + "3", axb + "4", axb + "5", plain + "6"}));
}

TEST_F(dqbench_reader, batch_file_shares_the_state) {
    const auto file = write("batch", "4 --stag=axb 5\n");
    EXPECT_EQ(read({"--dtag=any", "--batch=" + file, "6"}),
            (lines {plain + "--dtag=any 4", axb + "--dtag=any 5", axb + "--dtag=any 6"}));
}

TEST_F(dqbench_reader, batch_file_has_comments_and_continued_lists) {
    const auto file =
            write("batch", "# 1 --nonsense\n\n  2 # 3\n--stag=abx, \\\n  axb\t4\n--dtag=abx,\n   # more\n   any 5");
    EXPECT_EQ(read({"--batch=" + file}),
            (lines {plain + "2", plain + "4", axb + "4", plain + "5", plain + "--dtag=any 5", axb + "5",
                    axb + "--dtag=any 5"}));
}

TEST_F(dqbench_reader, batch_files_are_found_beside_the_including_file_and_among_the_inputs) {
    write("deep/inner", "1");
    write("inputs/inner", "2");
    write("inputs/shared", "3");
    const auto outer = write("deep/outer", "--batch=inner --batch=shared");
    EXPECT_EQ(read({"--batch=" + outer, "--batch=inner"}), (lines {plain + "1", plain + "3", plain + "2"}));
}

TEST_F(dqbench_reader, one_file_may_be_included_twice) {
    write("inputs/shapes", "1 2");
    write("inputs/all", "--batch=shapes --stag=axb --batch=shapes");
    EXPECT_EQ(read({"--batch=all"}), (lines {plain + "1", plain + "2", axb + "1", axb + "2"}));
}

TEST_F(dqbench_reader, match_lets_cases_through) {
    EXPECT_EQ(read({"--match=axb.*4", "--stag=abx,axb", "4", "5"}), (lines {axb + "4"}));
    EXPECT_EQ(read({"--match=resnet", "4n\"resnet:fc\"", "5"}), (lines {plain + "4n\"resnet:fc\""}));
}

/// The longest ones: letters, groups within groups, loops within loops, alternatives.
TEST_F(dqbench_reader, match_takes_long_expressions) {
    const auto times = [](std::size_t count, const std::string &text) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i)
            all += text;
        return all;
    };
    const auto matches = [&](const std::string &expression) {
        EXPECT_LE(expression.size(), 1000U);
        return read({"--match=" + expression, "4"}).size() == 1;
    };
    EXPECT_TRUE(matches(times(994, "|") + "Dynami"));
    EXPECT_FALSE(matches(times(1000, "a")));
    EXPECT_TRUE(matches(times(499, "(") + "op" + times(499, ")")));
    EXPECT_TRUE(matches(times(332, "(") + "." + times(332, ")*") + "="));
    EXPECT_FALSE(matches(times(332, "(") + "." + times(332, ")*") + "!"));
    EXPECT_TRUE(matches(times(249, "a|b|") + "op"));
    EXPECT_TRUE(matches(times(499, "a*") + "4$"));
    EXPECT_TRUE(matches("(a?){1000}4$"));
    EXPECT_FALSE(matches("(.|.)*!"));
}

/// dqbench calls a case's name what follows "n".
TEST_F(dqbench_reader, match_searches_long_lines) {
    const auto line = "4n\"" + std::string(2000, 'a') + '"';
    EXPECT_EQ(read({"--match=(.|.)*4n", line}), (lines {plain + line}));
    EXPECT_EQ(read({"--match=(.|a)*x$", line}), lines {});
}

TEST_F(dqbench_reader, counts_problems_and_sees_help) {
    reader input(folder);
    input.read_arguments({"--match=nothing", "4", "5", "--help"});
    EXPECT_EQ(input.jobs().size(), 0u);
    EXPECT_EQ(input.problems(), 2u);
    EXPECT_TRUE(input.help());
}

TEST_F(dqbench_reader, perf_template_stays_over_reset) {
    reader input(folder);
    input.read_arguments({"--perf-template=%op%", "--reset", "4", "--perf-template=%desc%", "5"});
    ASSERT_EQ(input.jobs().size(), 2u);
    EXPECT_EQ(input.jobs()[0].report.text(), "%op%");
    EXPECT_EQ(input.jobs()[1].report.text(), "%desc%");
}

} // namespace
