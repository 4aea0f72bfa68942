// What the drop-in tells: under DYNQUANT_VERBOSE what it claimed and what it left to oneDNN, and always that there is
// no oneDNN.
#pragma once

#include <string>

namespace dynquant::onednn_graph {

/// dynquant_verbose,graph,claim,cpu,op 3 'conv1_quant' (DynamicQuantize)
void report_claim(const std::string &op);

/// dynquant_verbose,graph,leave,cpu,<why>: oneDNN gets the op.
void report_leave(const std::string &why);

/// dynquant_verbose,graph,error,cpu,<what>: a status goes back in place of an exception.
void report_error(const std::string &what);

/// To stderr, once: how to put a oneDNN behind the drop-in.
void report_no_onednn();

} // namespace dynquant::onednn_graph
