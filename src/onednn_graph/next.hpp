// Access to oneDNN's functions, and the wrapper of the functions that this library exports in their place.
#pragma once

#include <new>
#include <string>

#include "graph/onednn.hpp"
#include "graph/refusal.hpp"
#include "graph/report.hpp"

namespace dynquant::onednn_graph {

namespace core = dynquant::graph::core;
using core::onednn;

/// Whether there is a oneDNN behind this library. If not, stderr says so once.
bool has_onednn();

/// To stderr, once: what is wrong with an environment variable, for which each op is left to oneDNN.
void tell_wrong_environment();

/// Why no op is claimed with this oneDNN, or "" if ops are.
std::string explain_unsupported_runtime();

/// Runs the body of an exported function and turns an exception into a status.
template <typename F>
dnnl_status_t guarded(F &&function) noexcept {
    if (!has_onednn()) return dnnl_unimplemented;
    try {
        return function();
    } catch (const dnnl::error &e) {
        core::report("error", e.message);
        return e.status;
    } catch (const std::bad_alloc &) {
        return dnnl_out_of_memory;
    } catch (...) {
        return dnnl_runtime_error;
    }
}

} // namespace dynquant::onednn_graph
