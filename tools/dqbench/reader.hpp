// Reads the command line, batch files and graphs into a list of jobs, before anything runs. Options set a state; each
// problem is combined with the state at its place.
#pragma once

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "benchdnn/reorder.hpp"
#include "json_graph/plan.hpp"
#include "json_graph/rewrite.hpp"
#include "options.hpp"
#include "perf_template.hpp"
#include "run_settings.hpp"

namespace dqbench {

/// A case to run, or an op of a graph that dqbench does not support.
struct job {
    test_case what;
    perf_template report;
    std::string unsupported = {}; // the reason; empty for a case
    std::string origin = {};      // benchdnn's arguments of a reorder or graph, which reproduce an unsupported one
    std::size_t repeats = 1;      // how often it is run
};

/// The arguments that reproduce this job.
std::string repro(const job &j);

class reader {
  public:
    /// inputs: the folder of files that are not beside the file that names them; own: the one that is searched last.
    explicit reader(std::filesystem::path inputs, std::filesystem::path own = {})
        : inputs_(std::move(inputs))
        , own_(std::move(own)) {}

    /// Reads the arguments in order. Throws usage_error with the place.
    void read_arguments(const std::vector<std::string> &arguments);

    const std::vector<job> &jobs() const { return jobs_; }

    /// Whether --help, or --version, was among the arguments.
    bool help() const { return help_; }
    bool version() const { return version_; }

    /// Lines to print before anything runs.
    const std::vector<std::string> &notes() const { return notes_; }

    const run_settings &run() const { return run_; }

    /// The number of problems and graphs read, including those that --match filters out.
    std::size_t problems() const { return problems_; }

  private:
    void read(const std::string &argument);
    void read_option(const std::string &name, const std::string *value);
    void read_command(const std::string &word, const std::string *value);
    bool read_setting(const std::string &word, const std::string &value);
    void read_driver(const std::string &word);
    void read_problem(const std::string &text);
    void read_batch(const std::string &name);
    void read_graph(const std::string &name);
    void add_cases(const settings &state, const problem &prb, const std::string &origin = "");
    void add_plan(const json_graph::graph &g, const json_graph::plan &p);
    void add_reorder(const benchdnn::reorder::planned &planned);
    void add(const job &j);
    void note(const std::string &text);
    void note_what_has_no_effect();
    std::filesystem::path find_input(const char *kind, const std::string &name) const;

    std::filesystem::path inputs_, own_;
    std::vector<std::filesystem::path> including_; // batch files being read, outermost first
    settings settings_;
    json_graph::rewrites rewrites_;
    std::string driver_; // benchdnn's graph or reorder; empty: dqbench's own options and problems
    benchdnn::reorder reorder_;
    run_settings run_;
    std::size_t repeats_ = 1;
    perf_template report_;
    std::optional<std::regex> match_;
    std::string match_text_;
    std::vector<std::string> waiting_; // options for problems, since the last one
    std::vector<job> jobs_;
    std::vector<std::string> notes_;
    std::size_t problems_ = 0;
    bool help_ = false, version_ = false;
};

} // namespace dqbench
