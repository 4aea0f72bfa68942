#include "graph/report.hpp"

#include <cstdio>

#include "graph/refusal.hpp"
#include "quantization/environment.hpp"

namespace dynquant::graph::core {
namespace {

void print(const char *event, const std::string &text) {
    if (environment::verbose() == 0) return;
    std::printf("dynquant_verbose,graph,%s,cpu,%s\n", event, text.c_str()); // one call: lines of threads do not mix
    std::fflush(stdout);
}

} // namespace

void report_claim(const op_record &op) {
    print("claim", label(op));
}

void report_leave(const std::string &why) {
    print("leave", why);
}

void report_fused(const op_record &op) {
    print("leave", label(op) + ": oneDNN fuses it with other ops; partition::policy::debug fuses none");
}

void report_error(const std::string &what) {
    print("error", what);
}

} // namespace dynquant::graph::core
