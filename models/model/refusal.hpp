// Errors, most of which name the node: "node 'fc1' (MatMulInteger): B 'w': expected ..., given ...".
#pragma once

#include "model/graph.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {

/// Printable, as names of values may be any bytes: at a NUL the message would end.
template <typename... Parts>
[[noreturn]] void refuse(dnnl_status_t status, const Parts &...parts) {
    throw error(status, printable(concat(parts...)));
}
template <typename... Parts>
[[noreturn]] void refuse(const node &n, dnnl_status_t status, const Parts &...parts) {
    refuse(status, label(n), ": ", parts...);
}

/// Calls body(); what it throws gets the file's name in front.
template <typename Body>
auto naming(const std::string &file, const Body &body) {
    try {
        return body();
    } catch (const error &e) {
        refuse(e.status, file, ": ", e.message);
    }
}

} // namespace dynquant::models
