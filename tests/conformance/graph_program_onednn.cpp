// The program as it was written, which shows that it is one.
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dg = dnnl::graph;

#include "graph_program.inc"
