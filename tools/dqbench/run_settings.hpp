// How the whole run goes and what it prints: options of benchdnn that no case has.
#pragma once

#include <cstddef>
#include <string_view>

namespace dqbench {

/// --summary: lists after the last case.
struct summary_settings {
    bool failures = true, implementations = false, implementations_as_csv = false;
};

struct run_settings {
    int verbose = 0;       // from 1 on, a line before each case, which tells where a crash was
    std::size_t start = 0; // the first case that is run
    summary_settings summary = {};
};

/// Changes settings by [no-]failures, [no-]impl and [no-]impl-csv, with + between them. Throws usage_error.
void parse_summary(std::string_view text, summary_settings &settings);

} // namespace dqbench
