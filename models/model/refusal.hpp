// Throws error, with the node's name in the message: "node 'fc1' (MatMulInteger): B 'w': expected ..., given ...".
#pragma once

#include "model/graph.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {

/// Escapes the message, as names of values may be any bytes and a NUL would end it.
template <typename... Parts>
[[noreturn]] void refuse(dynquant::status status, const Parts &...parts) {
    throw error(status, printable(concat(parts...)));
}
template <typename... Parts>
[[noreturn]] void refuse(const node &n, dynquant::status status, const Parts &...parts) {
    refuse(status, label(n), ": ", parts...);
}

/// Calls body() and prefixes its errors with the file's name.
template <typename Body>
auto prefix_errors(const std::string &file, const Body &body) {
    try {
        return body();
    } catch (const error &e) {
        refuse(e.status, file, ": ", e.what());
    }
}

} // namespace dynquant::models
