// Prints result lines, performance lines, progress and the summary.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "progress.hpp"
#include "reader.hpp"
#include "timing.hpp"

namespace dqbench {

class report {
  public:
    report(std::size_t jobs, const run_settings &settings);

    /// Tells the job that runs next, from --verbose=1 on.
    void announce(const job &j);

    void print(std::size_t index, const job &j, const outcome &o, double milliseconds);
    void print_summary(const phase_times &times);

    /// Whether a case failed, is not implemented or was invalid.
    bool has_failures() const;

  private:
    void print_measurement(std::size_t index, const job &j, const measurement &m);
    int count(case_state state) const { return counts_[static_cast<std::size_t>(state)]; }

    void print_implementations() const;

    std::size_t jobs_;
    run_settings settings_;
    std::map<std::string, int> implementations_; // how many cases each ran
    progress progress_;
    clock::time_point start_ = clock::now();
    std::array<int, static_cast<std::size_t>(case_state::failed) + 1> counts_ {};
    std::vector<std::string> failures_;
    std::string perf_header_; // last printed
    double least_total_ = 0, average_total_ = 0;
    bool measured_ = false;
};

/// A line where times are far apart; empty where they are not.
std::string warning_of_noise(const timing &t);

/// A result line: 0:PASSED (native:avx512) (3 ms) __REPRO: --op=DynamicQuantize ... 8x64
std::string result_line(std::size_t index, const job &j, const outcome &o, double milliseconds);

} // namespace dqbench
