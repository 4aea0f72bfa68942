// Errors that name the op: "op 3 'conv1_quant' (DynamicQuantize): scales: expected ..., given ...".
#pragma once

#include <utility>

#include "graph/op_record.hpp"
#include "quantization/text.hpp"

namespace dynquant::graph::core {

/// op 3 'conv1_quant' (DynamicQuantize)
std::string label(const op_record &op);

/// A layout that only oneDNN can read: callers may fall back to oneDNN.
struct opaque_layout : dynquant::error {
    using error::error;
};
/// A wrong number of scales or zps: no fallback, as oneDNN would read past their end.
struct wrong_count : dynquant::error {
    using error::error;
};

template <typename Error, typename... Parts>
[[noreturn]] void refuse_as(const op_record &op, dnnl_status_t status, const Parts &...parts) {
    throw Error(status, printable(concat(label(op), ": ", parts...)));
}

template <typename... Parts>
[[noreturn]] void refuse(const op_record &op, dnnl_status_t status, const Parts &...parts) {
    refuse_as<dynquant::error>(op, status, parts...);
}

/// Calls f and puts the op's label in front of the message of an error.
template <typename F>
decltype(auto) prefix_errors(const op_record &op, F &&f) {
    try {
        return std::forward<F>(f)();
    } catch (const dnnl::error &e) {
        refuse(op, e.status, e.message);
    }
}

/// Throws unless the engine kind is cpu; the message begins with `what`.
void require_cpu(const std::string &what, dnnl_engine_kind_t kind);

} // namespace dynquant::graph::core
