// The program for dynquant::graph: only the line that defines dg differs.
#include "dynquant/graph.hpp"

namespace dg = dynquant::graph;

#include "graph_program.inc"
