// Lines under DYNQUANT_VERBOSE about ops of this family, the same from libdynquant and from the drop-in.
#pragma once

#include <string>

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// dynquant_verbose,graph,claim,cpu,op 3 'conv1_quant' (DynamicQuantize)
void report_claim(const op_record &op);

/// dynquant_verbose,graph,leave,cpu,<why>: the op is left to oneDNN.
void report_leave(const std::string &why);

/// Reports an op that oneDNN fuses with others in a partition of its own.
void report_fused(const op_record &op);

/// dynquant_verbose,graph,error,cpu,<what>
void report_error(const std::string &what);

/// Calls f and reports an error that it throws.
template <typename F>
decltype(auto) report_errors(F &&f) {
    try {
        return f();
    } catch (const dnnl::error &e) {
        report_error(e.message);
        throw;
    }
}

} // namespace dynquant::graph::core
