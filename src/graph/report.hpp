// Lines under DYNQUANT_VERBOSE about ops of this family, the same from libdynquant and from the drop-in.
#pragma once

#include <string>

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// dynquant_verbose,graph,claim,cpu,op 3 'conv1_quant' (DynamicQuantize): an op that dynquant computes. leave: one that
/// is left to oneDNN, and why. error: what was wrong.
void report(const char *event, const std::string &text);

/// Reports an op that oneDNN fuses with others in a partition of its own. known_error: "" or ", and ...".
void report_fused(const op_record &op, const std::string &known_error);

/// Calls f and reports an error that it throws.
template <typename F>
decltype(auto) report_errors(F &&f) {
    try {
        return f();
    } catch (const dnnl::error &e) {
        report("error", e.message);
        throw;
    }
}

} // namespace dynquant::graph::core
