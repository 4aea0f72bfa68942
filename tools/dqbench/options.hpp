// The options that describe a test case, in one table: parsing, --help and __REPRO all read it, so an
// option is one row.
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
    bool resettable; // says what to run, so --reset forgets it; else it says how to run

    /// Throws usage_error.
    void (*set)(test_case &c, std::string_view value);
    /// What set() reads back; empty for the default, which __REPRO leaves out.
    std::string (*show)(const test_case &c);
};

const std::vector<option> &options();

/// The option of that name, or null.
const option *find_option(std::string_view name);

/// The state that options build up: for each option the values that were given last.
class settings {
  public:
    /// Throws usage_error, changing nothing.
    void set(const option &which, std::string_view value);
    void reset();

    bool has(const option &which) const { return values_.count(&which) != 0; }

    /// One case for each combination of values. Throws usage_error when one of them makes no sense.
    std::vector<test_case> cases_for(const problem &prb) const;

  private:
    std::map<const option *, std::vector<std::string>> values_;
};

/// The arguments that run this case again.
std::string repro(const test_case &c);

/// Names of peers: onednn_graph,xnnpack
std::string join(const std::vector<peer_kind> &peers, char separator);

/// A data-type list, SRC:SCALES:ZPS:DST.
std::string to_string(const data_types &types);

} // namespace dqbench
