#include "onednn_graph/report.hpp"

#include <atomic>
#include <cstdio>

#include "quantization/environment.hpp"

namespace dynquant::onednn_graph {
namespace {

void print(const char *event, const std::string &text) {
    if (environment::verbose() == 0) return;
    std::printf("dynquant_verbose,graph,%s,cpu,%s\n", event, text.c_str()); // one call: lines of threads do not mix
    std::fflush(stdout);
}

} // namespace

void report_claim(const std::string &op) {
    print("claim", op);
}

void report_fallback(const std::string &why) {
    print("leave", why);
}

void report_error(const std::string &what) {
    print("error", what);
}

void report_no_onednn() {
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    if (told.test_and_set()) return;
    std::fputs(
            "dynquant: expected oneDNN's library (libdnnl 3.2 or newer, with Graph) behind libdynquant_onednn_graph, "
            "given none.\n"
            "dynquant: link it before libdnnl (-ldynquant_onednn_graph -ldnnl), or start the program with "
            "LD_PRELOAD=libdynquant_onednn_graph.so; a oneDNN that is linked statically cannot be extended.\n",
            stderr);
}

} // namespace dynquant::onednn_graph
