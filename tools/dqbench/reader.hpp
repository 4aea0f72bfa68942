// Reads the command line and batch files into the list of what to run, before anything runs. Options
// are a state; a problem is combined with the state at its place.
#pragma once

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "options.hpp"
#include "perf_template.hpp"

namespace dqbench {

struct job {
    test_case what;
    perf_template report;
};

class reader {
  public:
    /// inputs: where batch files are looked for that are not beside the file that names them.
    explicit reader(std::filesystem::path inputs)
        : inputs_(std::move(inputs)) {}

    /// Reads the arguments in order. Throws usage_error, whose text says where.
    void read_arguments(const std::vector<std::string> &arguments);

    const std::vector<job> &jobs() const { return jobs_; }

    /// --help was among the arguments.
    bool help() const { return help_; }

    /// Problems read, whether --match let them through or not.
    std::size_t problems() const { return problems_; }

  private:
    void read(const std::string &argument);
    void read_option(const std::string &name, const std::string *value);
    void read_problem(const std::string &text);
    void read_batch(const std::string &name);
    std::filesystem::path find_batch(const std::string &name) const;

    std::filesystem::path inputs_;
    std::vector<std::filesystem::path> including_; // batch files being read, outermost first
    settings settings_;
    perf_template report_;
    std::optional<std::regex> match_;
    std::vector<job> jobs_;
    std::size_t problems_ = 0;
    bool help_ = false;
};

} // namespace dqbench
