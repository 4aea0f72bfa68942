// The program for oneDNN Graph, which shows that oneDNN accepts it.
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dg = dnnl::graph;

#include "graph_program.inc"

// For the leak sanitizer: oneDNN 3.2 leaks its pattern matcher.
extern "C" [[gnu::visibility("default")]] const char *__lsan_default_suppressions() {
    return "leak:libdnnl";
}
