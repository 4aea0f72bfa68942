#include "graph/report.hpp"

#include <cstdio>

#include "graph/refusal.hpp"
#include "quantization/environment.hpp"

namespace dynquant::graph::core {

void report(const char *event, const std::string &text) {
    if (environment::verbose() == 0) return;
    std::printf("dynquant_verbose,graph,%s,cpu,%s\n", event, text.c_str()); // one call: lines of threads do not mix
    std::fflush(stdout);
}

void report_fused(const op_record &op, const std::string &known_error) {
    report("leave",
            concat(label(op), ": oneDNN fuses it with other ops", known_error,
                    "; partition::policy::debug fuses none"));
}

} // namespace dynquant::graph::core
