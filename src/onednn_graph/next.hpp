// oneDNN's own functions, and the frame of those that this library puts before them.
#pragma once

#include <new>
#include <string>

#include "graph/onednn.hpp"
#include "graph/refusal.hpp"
#include "onednn_graph/report.hpp"

namespace dynquant::onednn_graph {

namespace core = dynquant::graph::core;
using core::onednn;

/// Whether there is a oneDNN behind this library; if not, that is told.
bool has_onednn();

/// Why no op is claimed beside this oneDNN, or "" where ops are.
std::string why_all_is_left();

/// Runs an exported function: no exception leaves it.
template <typename F>
dnnl_status_t guarded(F &&function) noexcept {
    if (!has_onednn()) return dnnl_unimplemented;
    try {
        return function();
    } catch (const dnnl::error &e) {
        report_error(e.message);
        return e.status;
    } catch (const std::bad_alloc &) {
        return dnnl_out_of_memory;
    } catch (...) {
        return dnnl_runtime_error;
    }
}

} // namespace dynquant::onednn_graph
