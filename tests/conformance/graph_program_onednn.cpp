// The program as it was written, which shows that it is one.
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dg = dnnl::graph;

#include "graph_program.inc"

// For the leak sanitizer: oneDNN 3.2 leaks what it matched patterns with.
extern "C" [[gnu::visibility("default")]] const char *__lsan_default_suppressions() {
    return "leak:libdnnl";
}
