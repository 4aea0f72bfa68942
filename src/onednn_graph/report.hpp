// Output of the drop-in: under DYNQUANT_VERBOSE the ops that it claims or leaves to oneDNN; always that oneDNN is
// missing.
#pragma once

#include <string>

namespace dynquant::onednn_graph {

/// dynquant_verbose,graph,claim,cpu,op 3 'conv1_quant' (DynamicQuantize)
void report_claim(const std::string &op);

/// dynquant_verbose,graph,leave,cpu,<why>: the op is left to oneDNN.
void report_fallback(const std::string &why);

/// dynquant_verbose,graph,error,cpu,<what>: a status is returned in place of an exception.
void report_error(const std::string &what);

/// To stderr, once: how to put a oneDNN behind the drop-in.
void report_no_onednn();

} // namespace dynquant::onednn_graph
