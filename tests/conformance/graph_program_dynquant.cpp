// The program with its one line changed.
#include "dynquant/graph.hpp"

namespace dg = dynquant::graph;

#include "graph_program.inc"
