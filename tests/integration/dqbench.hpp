// Runs dqbench as a program.
#pragma once

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/program.hpp"

namespace dynquant::test {

class dqbench : public testing::Test {
  protected:
    outcome run(const std::string &arguments, const std::string &environment = "") const {
        return run_program(folder, environment, DQBENCH, arguments);
    }

    /// Runs dqbench, expects success, and returns stdout.
    std::string succeed(const std::string &arguments, const std::string &environment = "") const {
        return out_of_success(run(arguments, environment), arguments);
    }

    /// Runs dqbench, expects cases that failed, and returns stdout.
    std::string run_failing(const std::string &arguments) const {
        const auto [status, out, err] = run(arguments);
        EXPECT_EQ(status, 1) << arguments << '\n' << out << err;
        return out;
    }

    /// Expects a usage error: one line on stderr, nothing on stdout.
    void expect_refused(const std::string &arguments, const std::string &message) const {
        const auto [status, out, err] = run(arguments);
        EXPECT_EQ(status, 2) << arguments;
        EXPECT_EQ(out, "") << arguments;
        EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
        EXPECT_TRUE(contains(err, "dqbench: "));
        EXPECT_TRUE(contains(err, message));
    }

    static std::vector<std::string> matches(const std::string &text, const std::string &pattern) {
        const std::regex regex(pattern);
        std::vector<std::string> found;
        for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
            found.push_back((*i)[1]);
        return found;
    }

    const scratch_folder scratch;
    const std::filesystem::path folder = scratch.path;
};

} // namespace dynquant::test
