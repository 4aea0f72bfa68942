// dqbench reads its command line and batch files, and names the place of errors.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "../support/program.hpp"
#include "dqbench_support.hpp"
#include "reader.hpp"

namespace {

using namespace dqbench;
namespace fs = std::filesystem;

/// A folder for batch files, and one for the inputs, which are found from every folder.
class dqbench_reader : public testing::Test {
  protected:
    dqbench_reader() { fs::create_directories(folder / "inputs"); }

    std::string write(const std::string &name, const std::string &content) const {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << content;
        return (folder / name).string();
    }

    /// The arguments that reproduce each case.
    std::vector<std::string> read(const std::vector<std::string> &arguments) const {
        reader input(folder / "inputs");
        input.read_arguments(arguments);
        std::vector<std::string> lines;
        for (const auto &job : input.jobs())
            lines.push_back(repro(job.what));
        return lines;
    }

    void expect_refused(const std::vector<std::string> &arguments, const std::string &message) const {
        expect_usage_error([&] { read(arguments); }, message);
    }

    const dynquant::test::scratch_folder scratch;
    const fs::path folder = scratch.path;
};

using lines = std::vector<std::string>;
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

TEST_F(dqbench_reader, unknown_options_get_the_nearest_spelling) {
    expect_refused({"--qtpye=per_tensor"}, "unknown option '--qtpye' (did you mean '--qtype'?)");
    expect_refused({"--bach=x"}, "did you mean '--batch'?");
    expect_refused({"-mode=C"}, "unknown option '-mode' (did you mean '--mode'?)");
    expect_refused({"--"}, "unknown option '--'");
    expect_refused({"-"}, "unknown option '-'");
    expect_refused({"--=3"}, "unknown option '--'");
}

TEST_F(dqbench_reader, a_value_is_there_when_and_only_when_it_is_wanted) {
    expect_refused({"--mode"}, "--mode: expected a value, as in --mode=VALUE");
    expect_refused({"--batch"}, "--batch: expected a value");
    expect_refused({"--reset=1"}, "--reset: expected no value");
}

TEST_F(dqbench_reader, bad_values_name_the_option) {
    expect_refused({"--threads=many"}, "--threads: expected an integer from 0 to 1024, given 'many'");
    expect_refused({"--match=("}, "--match: expected a regular expression, given '('");
    expect_refused({"--perf-template=%tiem%"}, "--perf-template: unknown field '%tiem%' (did you mean 'time'?)");
}

TEST_F(dqbench_reader, errors_in_batch_files_name_file_and_line) {
    const auto inner = write("inner", "# comment\n3\n\n3x-1\n");
    const auto outer = write("outer", "--batch=inner");
    expect_refused({"--batch=" + outer}, inner + ":4: bad problem '3x-1'");
    const auto missing = write("missing", "\n--batch=nowhere");
    expect_refused({"--batch=" + missing},
            missing + ":2: batch file 'nowhere' was not found: there is no " + (folder / "nowhere").string() + ", nor "
                    + (folder / "inputs/nowhere").string());
    const auto list = write("list", "--stag=abx,\n\n  axB 3");
    expect_refused({"--batch=" + list}, list + ":1: --stag: ");
}

TEST_F(dqbench_reader, unreadable_files_are_refused) {
    expect_refused(
            {"--batch=" + folder.string()}, "cannot read batch file '" + folder.string() + "': it is a directory");
    expect_refused({"--batch=nowhere"}, "batch file 'nowhere' was not found");
    expect_refused({"--batch="}, "cannot read batch file");
}

TEST_F(dqbench_reader, batch_files_that_include_themselves_are_refused) {
    const auto self = write("self", "1\n--batch=self");
    expect_refused({"--batch=" + self}, self + ":2: batch file '" + self + "' includes itself");
    const auto a = write("a", "--batch=b");
    const auto b = write("b", "\n\n--batch=./a");
    expect_refused({"--batch=" + a}, b + ":3: batch file '" + a + "' includes itself");
}

} // namespace
