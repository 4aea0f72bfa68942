// The options that describe a test case, one row of a table each. Parsing, --help and __REPRO read the table.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "test_case.hpp"

namespace dqbench {

struct option {
    const char *name;
    const char *values; // as --help shows them
    const char *help;
    bool list;       // takes a comma list; lists multiply
    bool resettable; // part of what to run, which --reset clears; else part of how to run

    /// Throws usage_error.
    void (*set)(test_case &c, std::string_view value);
    /// The value in set()'s syntax; empty where set() cannot give it.
    std::string (*show)(const test_case &c);
};

const std::vector<option> &options();

/// The option of this name, or null.
const option *find_option(std::string_view name);

/// The current state of the options: for each the latest values.
class settings {
  public:
    /// An empty value is the default, as in benchdnn. Throws usage_error, changing nothing.
    void set(const option &which, std::string_view value);
    void reset();

    bool has(const option &which) const { return values_.count(&which) != 0; }

    /// One case for each combination of values. Throws usage_error when one of them contradicts itself.
    std::vector<test_case> cases_for(const problem &prb) const;

  private:
    std::map<const option *, std::vector<std::string>> values_;
};

/// Throws usage_error when the options contradict each other.
void require_consistent(const test_case &c);

/// The options whose values differ, with those of the second case.
std::string changed_options(const test_case &before, const test_case &after);

/// The arguments that reproduce this case.
std::string repro(const test_case &c);

/// Names of peers with a separator: onednn_graph,xnnpack
std::string join(const std::vector<peer_kind> &peers, char separator);

/// A data-type list, SRC:SCALES:ZPS:DST.
std::string to_string(const data_types &types);

} // namespace dqbench
